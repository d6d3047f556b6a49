// Progress: what a person sees of a run while it goes on. One line per log point in a log; on a terminal a
// bar that stays on its line, and lines only for what should remain.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mylos/train/history/history.hpp"

namespace mylos {

/// Where a run's text goes. The library itself never prints.
struct Output {
  std::function<void(const std::string&)> line = [](const std::string&) {};  // a whole line
  std::function<void(const std::string&)> live = [](const std::string&) {};  // replaces the last live text
  bool is_terminal = false;
  std::function<int()> columns = [] { return 80; };  // of the terminal, now
};

class Progress {
 public:
  Progress(Output output, std::uint64_t total_steps)
      : output_(std::move(output)), total_steps_(total_steps) {}

  /// A log point. `remaining_s`: estimated time to the end.
  void step(const HistoryRow& row, double remaining_s) const;
  /// A line that stays: an evaluation, a checkpoint, a change of the loss scale.
  void note(const std::string& text) const;
  /// Removes the live bar.
  void clear() const;

 private:
  Output output_;
  std::uint64_t total_steps_;
};

/// "step 120/2808  epoch 0.51  loss 0.4312  lr 6.00e-04  |g| 0.91  scale 65536  48210 samples/s
///   37.4 % of peak  ETA 1:05", in one line. Tokens take the place of samples where the data are tokens; a
/// share of 0 is one that is not known.
[[nodiscard]] std::string progress_line(const HistoryRow& row, std::uint64_t total_steps, double remaining_s);
/// The same behind a bar, for a terminal of `columns`: never wider, so that the next one can take its place.
/// A narrow terminal gets less of it, and at last no bar.
[[nodiscard]] std::string live_line(const HistoryRow& row, std::uint64_t total_steps, double remaining_s,
                                    int columns);

}  // namespace mylos
