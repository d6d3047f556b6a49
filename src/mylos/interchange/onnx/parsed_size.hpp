// The memory that protobuf needs for an ONNX file, computed from its bytes before protobuf reads them.
//
// A stranger's file can ask for much: a message of two bytes becomes an object of a hundred and more, and a
// packed integer of one byte a number of eight (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <istream>
#include <optional>

namespace mylos {

/// Returns an upper bound of the bytes of the objects that protobuf makes of an ONNX model; nothing if the
/// stream has not the structure of one. Reads to the end of the stream, and takes no memory itself.
[[nodiscard]] std::optional<std::int64_t> parsed_size(std::istream& model, std::int64_t bytes);

}  // namespace mylos
