// The JSON header of a safetensors file, read without trust in it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/io/safetensors/safetensors.hpp"

namespace mylos::safetensors {

/// The largest header that the format allows, in bytes.
inline constexpr std::int64_t max_header_bytes = 100'000'000;

/// The largest number of bytes or elements that we count with.
inline constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

struct Header {
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
};

/// The tensors in the order in which they lie in the file; each one's type, shape and offsets agree, and
/// together they fill `data_bytes`. `path` is for messages. Throws Error (bad_input) for all else.
[[nodiscard]] Header parse_header(std::string_view text, std::int64_t data_bytes, const std::string& path);

/// What parse_header() promises, and the order in which they lie in the file.
void check_and_sort(std::vector<Entry>& entries, std::int64_t data_bytes, const std::string& path);

/// The product of extents that have been checked.
[[nodiscard]] std::int64_t elements_of(const std::vector<std::int64_t>& shape);

}  // namespace mylos::safetensors
