#include "commands/rollout_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/number_text.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_members = 100'000;

std::optional<std::int64_t> whole_number(std::string_view text) {
  const auto number = to_number<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

/// Reads "3", "0:8" or "4:" as a range.
std::optional<Split> range_of(std::string_view text, std::int64_t end) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    const auto number = whole_number(text);
    return number ? std::optional(Split{*number, 1}) : std::nullopt;
  }
  const std::string_view begin_text = text.substr(0, colon);
  const std::string_view end_text = text.substr(colon + 1);
  const auto first = begin_text.empty() ? std::optional<std::int64_t>(0) : whole_number(begin_text);
  const auto last = end_text.empty() ? std::optional(end) : whole_number(end_text);
  if (!first || !last || *last <= *first) return std::nullopt;
  return Split{*first, *last - *first};
}

}  // namespace

std::vector<std::int64_t> numbers_of(const std::string& text, std::int64_t end, const std::string& option,
                                     const std::string& of) {
  std::vector<std::int64_t> numbers;
  std::string_view rest = text == "all" ? ":" : std::string_view(text);
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto range = range_of(rest.substr(0, comma), end);
    if (!range)
      fail_input(errors::bad_argument,
                 "{} {}: expected numbers or ranges from 0, such as 3 or 0:8,12, or all", option,
                 printable(text));
    if (range->first + range->count > end) {
      fail_input(errors::bad_argument, "{} {}: there are {} {}", option, printable(text), end, of);
    }
    if (numbers.size() + static_cast<std::size_t>(range->count) > max_members)
      fail_input(errors::too_large, "{} {}: more than {} members", option, printable(text), max_members);
    for (std::int64_t i = 0; i < range->count; ++i) numbers.push_back(range->first + i);
    if (comma == rest.size()) return numbers;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<RolloutMember> rollout_members(const StoredLevels& levels, const LevelLayout& layout,
                                           const std::string& samples, const std::string& starts,
                                           std::int64_t steps) {
  const std::string& path = levels.store().path();
  const std::int64_t forced = layout.has_stored_forcings() ? (steps - 1) * layout.ahead : 0;
  std::vector<RolloutMember> members;
  for (const std::int64_t sample :
       numbers_of(samples, levels.trajectories(), "--sample", fmt::format("samples in {}", path))) {
    const std::int64_t there = levels.levels(sample);
    for (const std::int64_t first : numbers_of(starts, there, "--start", fmt::format("levels in {}", path))) {
      if (members.size() == max_members)
        fail_input(errors::too_large, "--sample {} --start {}: more than {} members", printable(samples),
                   printable(starts), max_members);
      members.push_back({sample, first});
      if (first + layout.history + forced <= there) continue;
      if (first + layout.history > there) {
        fail_input(errors::too_little_data, "{}: has {} levels, and a rollout from level {} begins with {}",
                   path, there, first, layout.history);
      }
      fail_input(
          errors::too_little_data,
          "{}: has {} levels; {} steps from level {} read forcings up to level {}, so at most {} steps "
          "are possible",
          path, there, steps, first, first + layout.history - 1 + forced,
          (there - first - layout.history) / layout.ahead + 1);
    }
  }
  return members;
}

}  // namespace mylos::app
