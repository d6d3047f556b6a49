// Progress: what a run prints while it trains. A log gets one line per log point. A terminal gets a bar that
// is redrawn in place, and lines only for text that should remain.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mylos/train/history/history.hpp"

namespace mylos {

/// The destinations of a run's text. The library itself never prints.
struct Output {
  std::function<void(const std::string&)> line = [](const std::string&) {};  // prints a complete line
  std::function<void(const std::string&)> live = [](const std::string&) {};  // replaces the last live text
  bool is_terminal = false;
  std::function<int()> columns = [] { return 80; };  // current width of the terminal
};

class Progress {
 public:
  Progress(Output output, std::uint64_t total_steps)
      : output_(std::move(output)), total_steps_(total_steps) {}

  /// Shows a log point. `remaining_s`: estimated time to the end.
  void step(const HistoryRow& row, double remaining_s) const;
  /// Prints a line that stays: an evaluation, a checkpoint, a change of the loss scale.
  void note(const std::string& text) const;
  /// Removes the live bar.
  void clear() const;

 private:
  Output output_;
  std::uint64_t total_steps_;
};

/// Returns one line: "step 120/2808  epoch 0.51  loss 0.4312  lr 6.00e-04  |g| 0.91  scale 65536  48210
/// samples/s  37.4 % of peak  ETA 1:05". It counts tokens instead of samples if the data are tokens, and
/// omits the fraction of the peak if it is 0, which means unknown.
[[nodiscard]] std::string progress_line(const HistoryRow& row, std::uint64_t total_steps, double remaining_s);
/// Returns the same line after a bar, for a terminal of `columns` columns. The line is never wider, so that
/// the next one can replace it. On a narrow terminal, fields are omitted, and finally the bar.
[[nodiscard]] std::string live_line(const HistoryRow& row, std::uint64_t total_steps, double remaining_s,
                                    int columns);

}  // namespace mylos
