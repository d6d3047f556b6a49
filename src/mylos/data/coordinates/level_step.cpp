#include "mylos/data/coordinates/level_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

/// Of steps: files round their times.
constexpr double tolerance_of_step = 0.02;
/// Of months, which have 28 to 31 days, and of other steps that vary.
constexpr double wide_tolerance = 0.12;
constexpr double shortest_month = 27.9 * 86400e3;  // milliseconds
/// Of the distance of levels, for the times of two.
constexpr double tolerance_of_instant = 0.12;

constexpr std::string_view before_calendar = ", calendar ";

/// Returns "6 hours", for messages.
std::string length_of(const LevelStep& step) {
  return fmt::format("{} {}", step.length, printable(step.unit));
}

}  // namespace

void require_same_step(const LevelStep& expected, const std::string& source, const LevelStep& step,
                       const std::string& path) {
  require_same_calendar(expected, source, step, path);
  if (!expected.is_known() || !step.is_known()) return;
  const double expected_ms = milliseconds_of_unit(expected.unit);
  const double ms = milliseconds_of_unit(step.unit);
  const bool both_are_times = expected_ms > 0 && ms > 0;
  const double ratio =
      both_are_times ? step.length * ms / (expected.length * expected_ms) : step.length / expected.length;
  const bool has_same_unit =
      both_are_times || expected.unit.empty() || step.unit.empty() || expected.unit == step.unit;
  const bool are_months = both_are_times && step.length * ms >= shortest_month;
  const bool vary = are_months || expected.varies || step.varies;
  if (has_same_unit && std::abs(ratio - 1) <= (vary ? wide_tolerance : tolerance_of_step)) return;
  fail_input(errors::data_mismatch,
             "{}: its levels are {} apart, those of {} {}; take every n-th with data.arrays.slice, or set "
             "data.arrays.gaps = \"ignore\" before training if times mean nothing here",
             path, length_of(step), source, length_of(expected));
}

void require_same_calendar(const LevelStep& expected, const std::string& source, const LevelStep& step,
                           const std::string& path) {
  if (expected.calendar.empty() || step.calendar.empty() ||
      are_same_calendar(expected.calendar, step.calendar))
    return;
  fail_input(errors::data_mismatch,
             "{}: its times are of the calendar {}, those of {} of {}: the same date is another day of the "
             "year; convert one of them, or set data.arrays.gaps = \"ignore\" before training if times mean "
             "nothing here",
             path, printable(step.calendar), source, printable(expected.calendar));
}

void require_same_instants(const LevelTimes& expected, const std::string& source, const LevelTimes& times,
                           const std::string& path) {
  if (!are_same_calendar(comparable_calendar(expected), comparable_calendar(times))) return;
  const std::size_t count = std::min(expected.instants.size(), times.instants.size());
  const auto step = static_cast<double>(std::max(expected.usual_step(), times.usual_step()));
  for (std::size_t level = 0; level < count; ++level) {
    const Instant apart = times.instants[level] - expected.instants[level];
    if (static_cast<double>(std::abs(apart)) <= tolerance_of_instant * step) continue;
    fail_input(errors::data_mismatch,
               "{}: its level {} (counted from 0) is of {}, that of {} of {}; levels are compared by their "
               "numbers: cut one of the files, or give one that begins at the same time; data.arrays.gaps = "
               "\"ignore\" "
               "trains a network for which times mean nothing",
               path, level, text_of(times.calendar, times.instants[level]), source,
               text_of(expected.calendar, expected.instants[level]));
  }
}

std::string text_of_step(const LevelStep& step) {
  return fmt::format("{} {}{}{}", step.length, step.unit, step.calendar.empty() ? "" : before_calendar,
                     step.calendar);
}

LevelStep step_of_text(std::string_view text, const std::string& where) {
  LevelStep step;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, step.length);
  const std::size_t calendar = text.rfind(before_calendar);
  const bool has_calendar = calendar != std::string_view::npos;
  const bool is_length =
      std::isfinite(step.length) && (step.length > 0 || (has_calendar && step.length == 0));
  if (error != std::errc() || read == end || *read != ' ' || !is_length)
    fail_input(errors::damaged, "{} is \"{}\", expected a positive number and a unit", where,
               printable(text));
  if (has_calendar) step.calendar = text.substr(calendar + before_calendar.size());
  step.unit = std::string(read + 1, text.data() + std::min(calendar, text.size()));
  return step;
}

}  // namespace mylos
