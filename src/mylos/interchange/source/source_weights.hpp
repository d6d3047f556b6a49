// The file of weights beside exported source, of networks whose constants make compilers slow.
//
//   bytes    contents, little-endian
//   0-7      "MYLOSNET"
//   8-11     0x01020304: the order of bytes
//   12-15    bytes of a number: 4 or 8
//   16-23    numbers
//   24-27    CRC-32 of the numbers' bytes, as zlib computes it
//   28-31    0
//   32-      the numbers, IEEE 754
//
// The source has the same count and CRC-32: its loader refuses the file of another network.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/interchange/source/source_file.hpp"

namespace mylos {

/// Gives the constants of the arithmetic's type offsets in a file of weights, and returns its bytes.
/// Constants in double, of the scalings, stay in the source.
[[nodiscard]] std::string move_weights_to_file(SourceFile& file);

}  // namespace mylos
