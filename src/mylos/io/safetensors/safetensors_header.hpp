// A parser of the JSON header of a safetensors file that does not trust its input.
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

/// The largest number of bytes or elements that is supported.
inline constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

struct Header {
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
};

/// Parses the header. The entries are in file order; the type, shape and offsets of each agree, and together
/// they fill `data_bytes`. `path` is for messages. Throws Error (bad_input) otherwise.
[[nodiscard]] Header parse_header(std::string_view text, std::int64_t data_bytes, const std::string& path);

/// Checks the entries as described at parse_header(), and sorts them into file order.
void check_and_sort(std::vector<Entry>& entries, std::int64_t data_bytes, const std::string& path);

/// Returns the product of the extents, which must have been checked.
[[nodiscard]] std::int64_t elements_of(const std::vector<std::int64_t>& shape);

}  // namespace mylos::safetensors
