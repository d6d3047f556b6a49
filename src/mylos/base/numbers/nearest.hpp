// The nearest valid word to a misspelt word.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Returns the minimum number of insertions, deletions, replacements and swaps of neighbours that turn one
/// text into the other (optimal string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

/// Returns the candidate with the smallest distance, if it is at most `farthest`; among equals the first.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates,
                                                 std::size_t farthest);

/// Returns the few names that are nearest to `wanted`: "hidden1/weight, hidden2/weight".
[[nodiscard]] std::string nearest_names(const std::string& wanted, std::vector<std::string> names);

}  // namespace mylos
