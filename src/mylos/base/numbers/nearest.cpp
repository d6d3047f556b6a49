#include "mylos/base/numbers/nearest.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace mylos {
namespace {

/// Longer words are no typing errors, and the distance costs the product of the two lengths.
constexpr std::size_t max_word_length = 64;

constexpr std::size_t names_to_tell = 4;
constexpr std::size_t longest_compared_name = 200;  // bytes

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  const std::size_t columns = to.size() + 1;
  std::vector<std::size_t> before_last(columns);
  std::vector<std::size_t> last(columns);
  std::vector<std::size_t> current(columns);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) current[j] = std::min(current[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(current);
  }
  return last.back();
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                   std::size_t farthest) {
  if (word.size() > max_word_length) return std::nullopt;
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > farthest || (best && distance == farthest)) continue;
    best = candidate;
    farthest = distance;
  }
  return best;
}

std::string nearest_names(const std::string& wanted, std::vector<std::string> names) {
  std::vector<std::pair<std::size_t, std::string>> by_distance;
  for (std::string& name : names) {
    // For much longer names the distance is nearly their length, so it is not computed.
    const bool is_long = name.size() > longest_compared_name;
    const std::size_t distance = is_long ? name.size() : edit_distance(wanted, name);
    by_distance.emplace_back(distance, std::move(name));
  }
  std::stable_sort(by_distance.begin(), by_distance.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  by_distance.resize(std::min(by_distance.size(), names_to_tell));
  std::vector<std::string> nearest;
  for (auto& [distance, name] : by_distance) nearest.push_back(std::move(name));
  return fmt::format("{}", fmt::join(nearest, ", "));
}

}  // namespace mylos
