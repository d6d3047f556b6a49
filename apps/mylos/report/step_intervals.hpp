// StepIntervals: the values of single steps, joined while they arrive so that at most a given number of
// intervals of steps remains. Steps may repeat, in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mylos::app {

/// The values of an interval: the least and the largest of its steps that have values, and these values,
/// joined.
template <class Values>
struct StepInterval {
  std::int64_t first = 0;
  std::int64_t last = 0;
  Values values = {};
};

/// `join(Values&, const Values&)`: joins the values of two intervals.
template <class Values>
class StepIntervals {
 public:
  using Interval = StepInterval<Values>;

  /// Returns the values of the interval of a step.
  Values& at(std::int64_t step) {
    const std::int64_t key = key_of(step);
    const auto is_before = [this](const Interval& interval, std::int64_t sought) {
      return key_of(interval.first) < sought;
    };
    const bool is_in_last = !intervals_.empty() && key_of(intervals_.back().first) == key;  // the usual order
    auto found = is_in_last ? intervals_.end() - 1
                            : std::lower_bound(intervals_.begin(), intervals_.end(), key, is_before);
    if (found == intervals_.end() || key_of(found->first) != key)
      found = intervals_.insert(found, Interval{step, step});
    found->first = std::min(found->first, step);
    found->last = std::max(found->last, step);
    return found->values;
  }

  /// Joins neighbours in intervals of twice the width until at most `max` remain.
  template <class Join>
  void reduce_to(std::size_t max, const Join& join) {
    while (intervals_.size() > max) {
      width_ *= 2;
      std::size_t kept = 0;
      for (std::size_t i = 1; i < intervals_.size(); ++i) {
        if (key_of(intervals_[i].first) != key_of(intervals_[kept].first)) {
          ++kept;
          if (kept != i) intervals_[kept] = std::move(intervals_[i]);
          continue;
        }
        intervals_[kept].last = std::max(intervals_[kept].last, intervals_[i].last);
        join(intervals_[kept].values, intervals_[i].values);
      }
      intervals_.resize(kept + 1);
    }
  }

  /// Sorted by step.
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }
  /// The largest number of steps of an interval.
  [[nodiscard]] std::int64_t width() const { return width_; }

 private:
  [[nodiscard]] std::int64_t key_of(std::int64_t step) const { return step / width_; }

  std::int64_t width_ = 1;
  std::vector<Interval> intervals_;
};

}  // namespace mylos::app
