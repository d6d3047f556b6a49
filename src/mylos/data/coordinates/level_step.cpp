#include "mylos/data/coordinates/level_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

/// Months have 28 to 31 days.
constexpr double tolerance = 0.12;

/// Returns the seconds of a unit as UDUNITS, and with it the CF conventions, spell it; 0 of another unit.
double seconds_of(std::string_view unit) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"ms", 1e-3},   {"week", 604800}, {"weeks", 604800}, {"s", 1},       {"sec", 1},
      {"secs", 1},    {"second", 1},    {"seconds", 1},    {"min", 60},    {"mins", 60},
      {"minute", 60}, {"minutes", 60},  {"h", 3600},       {"hr", 3600},   {"hrs", 3600},
      {"hour", 3600}, {"hours", 3600},  {"d", 86400},      {"day", 86400}, {"days", 86400}};
  const auto* const found =
      std::find_if(std::begin(units), std::end(units), [&](const auto& each) { return each.first == unit; });
  return found == std::end(units) ? 0 : found->second;
}

}  // namespace

void require_same_step(const LevelStep& expected, const std::string& source, const LevelStep& step,
                       const std::string& path) {
  if (!expected.is_known() || !step.is_known()) return;
  const double expected_seconds = seconds_of(expected.unit);
  const double seconds = seconds_of(step.unit);
  const bool both_are_times = expected_seconds > 0 && seconds > 0;
  const double ratio = both_are_times ? step.length * seconds / (expected.length * expected_seconds)
                                      : step.length / expected.length;
  const bool has_same_unit =
      both_are_times || expected.unit.empty() || step.unit.empty() || expected.unit == step.unit;
  if (has_same_unit && std::abs(ratio - 1) <= tolerance) return;
  fail_input(errors::data_mismatch,
             "{}: its levels are {} apart, those of {} {}; take every n-th with data.arrays.slice, or set "
             "data.arrays.gaps = \"ignore\" before training if times mean nothing here",
             path, printable(text_of_step(step)), source, printable(text_of_step(expected)));
}

std::string text_of_step(const LevelStep& step) {
  return fmt::format("{} {}", step.length, step.unit);
}

LevelStep step_of_text(std::string_view text, const std::string& where) {
  LevelStep step;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, step.length);
  if (error != std::errc() || read == end || *read != ' ' || !(step.length > 0))
    fail_input(errors::damaged, "{} is \"{}\", expected a positive number and a unit", where,
               printable(text));
  step.unit = std::string(read + 1, end);
  return step;
}

}  // namespace mylos
