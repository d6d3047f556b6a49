#include "mylos/data/coordinates/level_times.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos {
namespace {

constexpr Instant min_month = 28 * day_ms;
constexpr double mean_month_ms = 365.2425 / 12 * static_cast<double>(day_ms);

/// Of times by which standard and proleptic_gregorian are the same.
constexpr const char* late_suffix = " (Gregorian)";

std::string_view without_suffix(std::string_view calendar) {
  if (calendar.ends_with(late_suffix)) calendar.remove_suffix(std::string_view(late_suffix).size());
  return calendar;
}

/// Returns the same day and time some months later; the last day of a shorter month.
Instant months_later(Calendar calendar, Instant instant, std::int64_t months) {
  const CfDate date = date_of(calendar, instant);
  const std::int64_t month = date.year * 12 + date.month - 1 + months;
  const std::int64_t year = month / 12 - (month % 12 < 0 ? 1 : 0);
  const std::optional<Instant> begins = instant_of(calendar, date.year, date.month, date.day);
  std::optional<Instant> later;
  for (int day = date.day; day > 0 && !later; --day)
    later = instant_of(calendar, year, static_cast<int>(month - year * 12) + 1, day);
  if (!later || !begins)  // some calendars have no year 0
    return instant + std::llround(static_cast<double>(months) * mean_month_ms);
  return *later + (instant - *begins);
}

/// Returns whether two instants are of the same day of two months, or of their last days.
bool are_months_apart(Calendar calendar, const std::vector<Instant>& instants) {
  const CfDate first = date_of(calendar, instants[0]);
  const CfDate second = date_of(calendar, instants[1]);
  const auto is_last = [&](Instant instant) { return date_of(calendar, instant + day_ms).day == 1; };
  return first.day == second.day || (is_last(instants[0]) && is_last(instants[1]));
}

}  // namespace

LevelTimes::LevelTimes(Calendar by, std::vector<Instant> of_levels)
    : calendar(by), instants(std::move(of_levels)) {
  std::vector<Instant> steps;
  for (std::size_t i = 1; i < instants.size(); ++i) steps.push_back(instants[i] - instants[i - 1]);
  if (steps.empty()) return;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  step_ = *middle;
  if (step_ <= 0) return;
  const Instant usual = step_;
  std::erase_if(steps, [&](Instant step) { return 2 * step < usual || 2 * step > 3 * usual; });
  const auto [shortest, longest] = std::ranges::minmax(steps);
  const bool vary = steps.size() == 1 ? are_months_apart(calendar, instants) : shortest != longest;
  if (usual >= min_month && vary) {
    months_ = static_cast<int>(std::lround(static_cast<double>(usual) / mean_month_ms));
    return;
  }
  double sum = 0;
  for (const Instant step : steps) sum += static_cast<double>(step);
  step_ = std::llround(sum / static_cast<double>(steps.size()));
}

Instant LevelTimes::at(std::int64_t level, double step_ms) const {
  const auto count = static_cast<std::int64_t>(instants.size());
  if (level < count) return instants[static_cast<std::size_t>(level)];
  const std::int64_t beyond = level - count + 1;
  const double step = months_ != 0 ? months_ * mean_month_ms
                      : count > 1  ? static_cast<double>(step_)
                                   : step_ms;
  if (!(step > 0) || step * static_cast<double>(beyond) > longest_ms) {
    fail_input(errors::data_mismatch,
               "level {} (counted from 0) has no time: the file states those of {} levels, which are usually "
               "{:.6g} days apart; expected times that increase, and less than a million years",
               level, count, step / static_cast<double>(day_ms));
  }
  if (months_ != 0) return months_later(calendar, instants.back(), beyond * months_);
  return instants.back() + beyond * std::llround(step);
}

std::string comparable_calendar(const LevelTimes& times) {
  if (!times.are_known()) return "";
  const bool has_late_twin =
      times.calendar == Calendar::standard || times.calendar == Calendar::proleptic_gregorian;
  const bool is_late = *std::ranges::min_element(times.instants) >=
                       instant_of(Calendar::proleptic_gregorian, 1582, 10, 15).value();
  return std::string(name_of(times.calendar)) + (has_late_twin && is_late ? late_suffix : "");
}

bool are_same_calendar(std::string_view one, std::string_view other) {
  return without_suffix(one) == without_suffix(other) ||
         (one.ends_with(late_suffix) && other.ends_with(late_suffix));
}

std::string common_calendar(const std::string& one, const std::string& other) {
  return other.empty() || other.ends_with(late_suffix) ? one : std::string(without_suffix(one));
}

}  // namespace mylos
