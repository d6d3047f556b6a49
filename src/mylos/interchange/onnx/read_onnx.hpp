// Reads an ONNX file of another program, which is not trusted. Builds without ONNX's protobuf definitions
// refuse it (no_onnx_file.cpp); the target is mylos_onnx_file, as for the writer (onnx_file.hpp).
#pragma once

#include <string>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// The opsets whose operators are read.
inline constexpr std::int64_t min_foreign_opset = 11;
inline constexpr std::int64_t max_foreign_opset = 24;

/// Reads the graph and its constants. Sizes that the file states are compared with its bytes and with the
/// available memory before memory is taken; external data are read only from regular files in the file's own
/// folder. Throws Error (bad_input): wrong-format if it is not ONNX, unknown-version for another opset,
/// truncated or damaged if a constant does not have the bytes of its shape, unsupported-feature for types,
/// sparse constants and functions that are not read; does_not_fit if the host has not the memory.
[[nodiscard]] ForeignGraph read_onnx(const std::string& path);

}  // namespace mylos
