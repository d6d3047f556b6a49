#include "mylos/data/coordinates/cf_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace mylos {
namespace {

constexpr std::array days_before_month = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
constexpr int february = 2;

struct CivilDate {
  std::int64_t year;
  int month;
  int day;
  auto operator<=>(const CivilDate&) const = default;
};

/// The first day of the Gregorian calendar, and what the Julian one called it.
constexpr CivilDate first_gregorian{1582, 10, 15};
constexpr CivilDate first_gregorian_in_julian{1582, 10, 5};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// Returns the leap years from year 0 to the one before `year`; negative for years before 0.
std::int64_t leap_years_before(Calendar calendar, std::int64_t year) {
  const auto multiples = [&](std::int64_t of) { return floor_divide(year + of - 1, of); };
  switch (calendar) {
    case Calendar::noleap:
    case Calendar::days_360:
      return 0;
    case Calendar::all_leap:
      return year;
    case Calendar::julian:
      return multiples(4);
    default:
      return multiples(4) - multiples(100) + multiples(400);
  }
}

std::int64_t days_before_year(Calendar calendar, std::int64_t year) {
  return (calendar == Calendar::days_360 ? 360 : 365) * year + leap_years_before(calendar, year);
}

bool is_leap(Calendar calendar, std::int64_t year) {
  return leap_years_before(calendar, year + 1) > leap_years_before(calendar, year);
}

/// Returns the days of the year before a month, counted from 1.
int days_before(Calendar calendar, bool leap, int month) {
  if (calendar == Calendar::days_360) return 30 * (month - 1);
  return days_before_month[static_cast<std::size_t>(month - 1)] + (leap && month > february ? 1 : 0);
}

std::int64_t day_number(Calendar calendar, const CivilDate& date) {
  return days_before_year(calendar, date.year) +
         days_before(calendar, is_leap(calendar, date.year), date.month) + date.day - 1;
}

/// Returns what is added to Julian days to count them as Gregorian ones.
std::int64_t julian_shift() {
  return day_number(Calendar::proleptic_gregorian, first_gregorian) -
         day_number(Calendar::julian, first_gregorian_in_julian);
}

std::int64_t first_gregorian_day() {
  return day_number(Calendar::proleptic_gregorian, first_gregorian);
}

/// Returns the days since the year 0 began, of "standard" on the axis of the Gregorian calendar; nothing if
/// there is no such date.
std::optional<std::int64_t> checked_day(Calendar calendar, const CivilDate& date) {
  const bool is_mixed = calendar == Calendar::standard;
  const bool is_early = is_mixed && date < first_gregorian;
  if (is_early && date >= first_gregorian_in_julian) return std::nullopt;
  const Calendar rules = is_early ? Calendar::julian : calendar;
  if ((is_mixed || calendar == Calendar::julian) && date.year == 0) return std::nullopt;
  if (date.month < 1 || date.month > 12 || date.day < 1) return std::nullopt;
  const bool leap = is_leap(rules, date.year);
  const int days = days_before(rules, leap, date.month + 1) - days_before(rules, leap, date.month);
  if (date.day > days) return std::nullopt;
  return day_number(rules, date) + (is_early ? julian_shift() : 0);
}

/// Reads numbers and separators from the beginning of a text.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  [[nodiscard]] std::optional<int> number() {
    int value = 0;
    const auto digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0 || digits > 6) return std::nullopt;
    std::from_chars(rest_.data(), rest_.data() + digits, value);
    rest_.remove_prefix(digits);
    return value;
  }
  /// Takes the digits after a point.
  [[nodiscard]] double decimals() {
    double value = 0;
    for (double unit = 0.1; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; unit /= 10) {
      value += unit * (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }
  void skip_spaces() {
    while (take(" ")) continue;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// Reads "[Z | UTC | GMT] [+hh[:]mm]", how far a zone is before UTC, in milliseconds.
std::optional<std::int64_t> zone(Words& words) {
  for (const std::string_view utc : {"Z", "UTC", "GMT"})
    if (words.take(utc)) break;
  const bool is_behind = words.take("-");
  const bool has_sign = is_behind || words.take("+");
  auto hours = words.number();
  if (!hours) return has_sign ? std::nullopt : std::optional<std::int64_t>(0);
  std::optional<int> minutes = 0;
  if (words.take(":"))
    minutes = words.number();
  else if (*hours > 99)
    std::tie(hours, minutes) = std::pair(*hours / 100, *hours % 100);
  if (!minutes || *minutes > 59 || *hours > 23) return std::nullopt;
  const std::int64_t ms = (*hours * std::int64_t{60} + *minutes) * std::int64_t{60'000};
  if (!has_sign && ms > 0) return std::nullopt;
  return is_behind ? -ms : ms;
}

/// Reads "[hh[:mm[:ss[.s]]]] [zone]", the rest of a reference, in milliseconds of the day in UTC.
std::optional<std::int64_t> time_of_day(Words& words) {
  std::int64_t ms = 0;
  if (const auto hours = words.number()) {
    ms = *hours * std::int64_t{3'600'000};
    if (words.take(":")) {
      const auto minutes = words.number();
      if (!minutes || *minutes > 59) return std::nullopt;
      ms += *minutes * std::int64_t{60'000};
    }
    if (words.take(":")) {
      const auto seconds = words.number();
      if (!seconds || *seconds > 59) return std::nullopt;
      ms += *seconds * std::int64_t{1000};
      if (words.take(".")) ms += std::llround(1000 * words.decimals());
    }
  }
  words.skip_spaces();
  const auto ahead = zone(words);
  words.skip_spaces();
  if (!ahead || !words.at_end() || ms >= day_ms) return std::nullopt;
  return ms - *ahead;
}

}  // namespace

double milliseconds_of_unit(std::string_view unit) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"ms", 1},         {"msec", 1},        {"millisecond", 1}, {"milliseconds", 1}, {"s", 1e3},
      {"sec", 1e3},      {"secs", 1e3},      {"second", 1e3},    {"seconds", 1e3},    {"min", 60e3},
      {"mins", 60e3},    {"minute", 60e3},   {"minutes", 60e3},  {"h", 3600e3},       {"hr", 3600e3},
      {"hrs", 3600e3},   {"hour", 3600e3},   {"hours", 3600e3},  {"d", 86400e3},      {"day", 86400e3},
      {"days", 86400e3}, {"week", 604800e3}, {"weeks", 604800e3}};
  const auto* const found = std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
  return found == std::end(units) ? 0 : found->second;
}

std::optional<Calendar> calendar_of(std::string_view name) {
  constexpr std::pair<std::string_view, Calendar> names[] = {
      {"", Calendar::standard},          {"standard", Calendar::standard},
      {"gregorian", Calendar::standard}, {"proleptic_gregorian", Calendar::proleptic_gregorian},
      {"julian", Calendar::julian},      {"noleap", Calendar::noleap},
      {"365_day", Calendar::noleap},     {"all_leap", Calendar::all_leap},
      {"366_day", Calendar::all_leap},   {"360_day", Calendar::days_360}};
  std::string lower(name);
  for (char& letter : lower)
    if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  const auto* const found = std::ranges::find(names, lower, &std::pair<std::string_view, Calendar>::first);
  return found == std::end(names) ? std::nullopt : std::optional(found->second);
}

const char* name_of(Calendar calendar) {
  switch (calendar) {
    case Calendar::standard:
      return "standard";
    case Calendar::proleptic_gregorian:
      return "proleptic_gregorian";
    case Calendar::julian:
      return "julian";
    case Calendar::noleap:
      return "noleap";
    case Calendar::all_leap:
      return "all_leap";
    default:
      return "360_day";
  }
}

int days_of(Calendar calendar) {
  if (calendar == Calendar::days_360) return 360;
  return calendar == Calendar::noleap ? 365 : 366;
}

int calendar_day(Calendar calendar, const CfDate& date) {
  return days_before(calendar, calendar != Calendar::noleap, date.month) + date.day - 1;
}

CfDate date_of(Calendar calendar, Instant instant) {
  const std::int64_t all_days = floor_divide(instant, day_ms);
  const bool is_early = calendar == Calendar::standard && all_days < first_gregorian_day();
  const Calendar rules = is_early ? Calendar::julian : calendar;
  const std::int64_t days = all_days - (is_early ? julian_shift() : 0);
  constexpr std::int64_t cycle = 400;  // years, of the leap years of every calendar
  std::int64_t year = floor_divide(days * cycle, days_before_year(rules, cycle));
  while (days_before_year(rules, year + 1) <= days) ++year;
  while (days_before_year(rules, year) > days) --year;
  CfDate date{.year = year, .is_leap_year = is_leap(rules, year)};
  const auto day = static_cast<int>(days - days_before_year(rules, year));  // of the year, from 0
  while (date.month < 12 && days_before(rules, date.is_leap_year, date.month + 1) <= day) ++date.month;
  date.day = day - days_before(rules, date.is_leap_year, date.month) + 1;
  date.day_of_year = day + 1;
  const double of_day = static_cast<double>(instant - all_days * day_ms) / static_cast<double>(day_ms);
  date.hour = 24 * of_day;
  const std::int64_t length = days_before_year(rules, year + 1) - days_before_year(rules, year);
  date.year_fraction = (day + of_day) / static_cast<double>(length);
  return date;
}

std::optional<Instant> instant_of(Calendar calendar, std::int64_t year, int month, int day) {
  const auto number = checked_day(calendar, {year, month, day});
  return number ? std::optional(*number * day_ms) : std::nullopt;
}

std::string text_of(Calendar calendar, Instant instant) {
  const CfDate date = date_of(calendar, instant);
  const std::int64_t seconds = (instant - floor_divide(instant, day_ms) * day_ms) / 1000;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", date.year, date.month, date.day, seconds / 3600,
                     seconds / 60 % 60, seconds % 60);
}

std::optional<CfTime> CfTime::of(std::string_view units, Calendar calendar) {
  constexpr std::string_view since = " since ";
  const std::size_t at = units.find(since);
  if (at == std::string_view::npos) return std::nullopt;
  const double unit_ms = milliseconds_of_unit(units.substr(0, at));
  if (unit_ms == 0) return std::nullopt;
  Words words(units.substr(at + since.size()));
  words.skip_spaces();
  const auto year = words.number();
  if (!year || !words.take("-")) return std::nullopt;
  const auto month = words.number();
  if (!month || !words.take("-")) return std::nullopt;
  const auto day = words.number();
  if (!day) return std::nullopt;
  if (!words.take("T")) words.skip_spaces();
  const auto of_day = time_of_day(words);
  const auto date = checked_day(calendar, {*year, *month, *day});
  if (!of_day || !date) return std::nullopt;
  return CfTime(calendar, unit_ms, *date * day_ms + *of_day);
}

std::optional<Instant> CfTime::instant(double value) const {
  const double since_reference = value * unit_ms_;
  if (!(std::abs(since_reference) <= longest_ms)) return std::nullopt;
  return reference_ + std::llround(since_reference);
}

}  // namespace mylos
