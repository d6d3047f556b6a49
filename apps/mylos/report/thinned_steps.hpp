// ThinnedSteps: the steps of events; all of them up to a bound, then an evenly spaced subset.
#pragma once

#include <cstdint>
#include <vector>

namespace mylos::app {

class ThinnedSteps {
 public:
  explicit ThinnedSteps(std::size_t most) : most_(most) {}

  void add(std::int64_t step) {
    if (total_++ % every_ != 0) return;
    steps_.push_back(step);
    if (steps_.size() <= most_) return;
    for (std::size_t i = 0; 2 * i < steps_.size(); ++i) steps_[i] = steps_[2 * i];
    steps_.resize((steps_.size() + 1) / 2);
    every_ *= 2;
  }

  [[nodiscard]] const std::vector<std::int64_t>& steps() const { return steps_; }
  [[nodiscard]] std::int64_t total() const { return total_; }
  /// steps() contains one of this number of steps; 1: all.
  [[nodiscard]] std::int64_t every() const { return every_; }

 private:
  std::size_t most_;
  std::vector<std::int64_t> steps_;
  std::int64_t total_ = 0;
  std::int64_t every_ = 1;
};

}  // namespace mylos::app
