// CfTime: what the numbers of a time axis mean by the CF conventions (section 4.4): "hours since 1900-01-01",
// and a calendar.
//
// An instant is a number of milliseconds since the beginning of the year 0 of its calendar. Files that count
// from other dates, or in other units, have the same instants; instants of different calendars are not
// comparable. Numbers are rounded to milliseconds: a third of a day in double is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// standard: Julian before 1582-10-15, then Gregorian. noleap: 365 days in every year; all_leap: 366;
/// days_360: 12 months of 30 days.
enum class Calendar { standard, proleptic_gregorian, julian, noleap, all_leap, days_360 };

using Instant = std::int64_t;  // milliseconds
inline constexpr std::int64_t day_ms = 86'400'000;

struct CfDate {
  std::int64_t year = 0;
  int month = 1;
  int day = 1;
  int day_of_year = 1;        // from 1
  double hour = 0;            // of the day, below 24
  double year_fraction = 0;   // of the year that has passed, below 1
  bool is_leap_year = false;  // by its calendar
};

/// Returns the milliseconds of a unit as UDUNITS, and with it the CF conventions, spell it; 0 of another one.
[[nodiscard]] double milliseconds_of_unit(std::string_view unit);

/// Returns the calendar of a CF name; an empty name is "standard". Nothing if it is none of those above.
[[nodiscard]] std::optional<Calendar> calendar_of(std::string_view name);
[[nodiscard]] const char* name_of(Calendar calendar);

/// Returns the days of the longest year.
[[nodiscard]] int days_of(Calendar calendar);
/// Returns the place, from 0, of the month and day in the longest year of the calendar: March 1 is 60 in
/// every year with leap years, and day 59, February 29, is only in some of them.
[[nodiscard]] int calendar_day(Calendar calendar, const CfDate& date);

[[nodiscard]] CfDate date_of(Calendar calendar, Instant instant);
/// Returns "2000-02-29 06:00:00".
[[nodiscard]] std::string text_of(Calendar calendar, Instant instant);

class CfTime {
 public:
  /// Reads units: "days since 1850-01-01", "seconds since 2000-1-1T06:00:00Z", "hours since 2000-01-01 00:00
  /// +09:00". Nothing if they are something else, among them months and years, which have no fixed length.
  [[nodiscard]] static std::optional<CfTime> of(std::string_view units, Calendar calendar);

  [[nodiscard]] Calendar calendar() const { return calendar_; }
  /// Nothing for a number that is not finite, or a million years away.
  [[nodiscard]] std::optional<Instant> instant(double value) const;

 private:
  CfTime(Calendar calendar, double unit_ms, Instant reference)
      : calendar_(calendar), unit_ms_(unit_ms), reference_(reference) {}

  Calendar calendar_;
  double unit_ms_;
  Instant reference_;
};

/// The instants of the levels of a file, as they are used; empty: the file states no times of this kind.
struct LevelTimes {
  LevelTimes() = default;
  LevelTimes(Calendar by, std::vector<Instant> of_levels);

  Calendar calendar = Calendar::standard;
  std::vector<Instant> instants = {};

  [[nodiscard]] bool are_known() const { return !instants.empty(); }
  /// Returns the usual distance of levels, the mean without gaps; 0 of one level.
  [[nodiscard]] Instant usual_step() const { return step_; }
  /// Returns whether those of one level or more are known, and usually increase.
  [[nodiscard]] bool increase() const { return instants.size() == 1 || step_ > 0; }
  /// Returns the instant of a level. Levels beyond the last one follow at the usual distance: months, whose
  /// days differ, of the calendar, or the mean without gaps; `step_ms`, if there is one level alone. Throws
  /// Error (data_mismatch) if the times do not increase, or the level is a million years away.
  [[nodiscard]] Instant at(std::int64_t level, double step_ms) const;

 private:
  Instant step_ = 0;  // 0: one level alone
  int months_ = 0;    // instead, if not 0
};

/// Returns the calendar by which times are compared: "noleap"; "standard (Gregorian)" or "proleptic_gregorian
/// (Gregorian)" of times since 1582-10-15, by which the two are the same; "" of times that are not known.
[[nodiscard]] std::string comparable_calendar(const LevelTimes& times);
[[nodiscard]] bool are_same_calendar(std::string_view one, std::string_view other);
/// Returns the calendar of times of both, which are of the same.
[[nodiscard]] std::string common_calendar(const std::string& one, const std::string& other);

}  // namespace mylos
