// LevelTimes: the instants of the levels of a file, and of those that a rollout adds beyond them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/data/coordinates/cf_time.hpp"

namespace mylos {

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
