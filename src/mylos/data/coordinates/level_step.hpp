// LevelStep: how far apart the levels of files are in time, and by which calendar.
#pragma once

#include <string>
#include <string_view>

#include "mylos/data/coordinates/level_times.hpp"

namespace mylos {

struct LevelStep {
  double length = 0;      // 0: not known
  std::string unit = {};  // "hours"; empty: not stated
  /// That of comparable_calendar(); empty: not stated.
  std::string calendar = {};
  bool varies = false;  // single steps of the file differ, or it has one alone; not stored
  [[nodiscard]] bool is_known() const { return length > 0; }
  [[nodiscard]] bool is_stated() const { return is_known() || !calendar.empty(); }
  friend bool operator==(const LevelStep& a, const LevelStep& b) {
    return a.length == b.length && a.unit == b.unit && a.calendar == b.calendar;
  }
};

/// Throws Error (data_mismatch), beginning with `path`, if both steps are known and differ by more than 2 %,
/// or an eighth of months, which are 28 to 31 days, and of steps that vary. Seconds, minutes, hours and days
/// are compared with each other. Calendars must be the same where both are known. `source`: whose step
/// `expected` is.
void require_same_step(const LevelStep& expected, const std::string& source, const LevelStep& step,
                       const std::string& path);

/// Throws Error (data_mismatch) in the same way for calendars alone.
void require_same_calendar(const LevelStep& expected, const std::string& source, const LevelStep& step,
                           const std::string& path);

/// Throws Error (data_mismatch), beginning with `path`, if levels of the same number lie at other times, by
/// more than an eighth of the distance of levels, where both state times of one calendar.
void require_same_instants(const LevelTimes& expected, const std::string& source, const LevelTimes& times,
                           const std::string& path);

/// Converts to "6 hours, calendar noleap", with an exact number, 0 if it is not known, and back. Throws Error
/// (damaged) with `where` for other texts.
[[nodiscard]] std::string text_of_step(const LevelStep& step);
[[nodiscard]] LevelStep step_of_text(std::string_view text, const std::string& where);

}  // namespace mylos
