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
/// A million years: times that are further away are none.
inline constexpr double longest_ms = 1e6 * 366 * static_cast<double>(day_ms);

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
/// Returns the instant at which a day begins; nothing if the calendar has no such date.
[[nodiscard]] std::optional<Instant> instant_of(Calendar calendar, std::int64_t year, int month, int day);
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

}  // namespace mylos
