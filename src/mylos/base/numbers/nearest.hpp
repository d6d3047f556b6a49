// The nearest valid word to a misspelt one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn one text into the other
/// (optimal string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

/// The candidate with the least distance, the first of equals, if that is at most `farthest`.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates,
                                                 std::size_t farthest);

}  // namespace mylos
