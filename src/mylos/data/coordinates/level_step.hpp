// LevelStep: how far apart the levels of files are in time.
#pragma once

#include <string>
#include <string_view>

namespace mylos {

struct LevelStep {
  double length = 0;      // 0: not known
  std::string unit = {};  // "hours"; empty: not stated
  [[nodiscard]] bool is_known() const { return length > 0; }
  bool operator==(const LevelStep&) const = default;
};

/// Throws Error (data_mismatch), beginning with `path`, if both steps are known and differ by more than an
/// eighth: months are 28 to 31 days. Seconds, minutes, hours and days are compared with each other.
/// `source`: whose step `expected` is.
void require_same_step(const LevelStep& expected, const std::string& source, const LevelStep& step,
                       const std::string& path);

/// Converts to "6 hours", with an exact number, and back. Throws Error (damaged) with `where` for other
/// texts.
[[nodiscard]] std::string text_of_step(const LevelStep& step);
[[nodiscard]] LevelStep step_of_text(std::string_view text, const std::string& where);

}  // namespace mylos
