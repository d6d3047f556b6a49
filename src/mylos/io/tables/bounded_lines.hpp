// BoundedLines: splits a text that arrives in pieces into lines, and stores at most one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mylos {

class BoundedLines {
 public:
  /// Calls `take` with every complete line, without its line end.
  BoundedLines(std::size_t max_bytes, std::function<void(std::string_view)> take)
      : max_bytes_(max_bytes), take_(std::move(take)) {}

  void feed(std::string_view piece);

  /// The number of lines longer than `max_bytes`, which were skipped.
  [[nodiscard]] std::int64_t too_long() const { return too_long_; }
  /// True if the text ends within a line.
  [[nodiscard]] bool ends_within_line() const { return !line_.empty() || skipping_; }

 private:
  std::size_t max_bytes_;
  std::function<void(std::string_view)> take_;
  std::string line_;       // what has come of a line whose end has not
  bool skipping_ = false;  // to the end of a line that is too long
  std::int64_t too_long_ = 0;
};

}  // namespace mylos
