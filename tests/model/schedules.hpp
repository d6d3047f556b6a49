// Execution schedules for tests: groups of blocks that are recomputed from the group's input, and random
// nestings.
#pragma once

#include <random>

#include "mylos/model/memory/schedule.hpp"

namespace mylos::test {

/// Blocks [first, last], whose input is in memory: forward saves with `variant(block)`, or stores only the
/// input of the first block if `variant` is negative.
template <class VariantOf>
void forward_keeping(Schedule& schedule, std::size_t first, std::size_t end, const VariantOf& variant) {
  for (std::size_t i = first; i < end; ++i) {
    schedule.push_back({OperationKind::forward, i, Keep::variant, variant(i)});
  }
}

template <class VariantOf>
void backward_through(Schedule& schedule, std::size_t first, std::size_t end, const VariantOf& variant) {
  for (std::size_t i = end; i-- > first;) {
    schedule.push_back({OperationKind::backward, i, Keep::nothing, variant(i)});
  }
}

/// Stores only the input of every group of k blocks, and reruns the group before its backward.
template <class VariantOf>
Schedule every(std::size_t k, std::size_t blocks, const VariantOf& variant) {
  Schedule schedule;
  const std::size_t last_group = (blocks - 1) / k * k;
  for (std::size_t i = 0; i < last_group; ++i) {
    schedule.push_back({OperationKind::forward, i, i % k == 0 ? Keep::input : Keep::nothing});
  }
  forward_keeping(schedule, last_group, blocks, variant);
  schedule.push_back({OperationKind::loss, blocks});
  backward_through(schedule, last_group, blocks, variant);
  for (std::size_t first = last_group; first > 0; first -= k) {
    forward_keeping(schedule, first - k, first, variant);
    backward_through(schedule, first - k, first, variant);
  }
  return schedule;
}

/// A random persistent schedule: each range saves its first block, or runs forward to a random block,
/// processes the blocks after it, and returns.
class RandomSchedule {
 public:
  template <class VariantOf>
  RandomSchedule(std::size_t blocks, unsigned seed, const VariantOf& variant)
      : blocks_(blocks), random_(seed) {
    run(0, blocks, variant);
  }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

 private:
  /// From x_first to δ_first; x_end or δ_end comes from the loss or from outside.
  template <class VariantOf>
  void run(std::size_t first, std::size_t end, const VariantOf& variant) {
    if (first == end) {
      if (end == blocks_) schedule_.push_back({OperationKind::loss, blocks_});
      return;
    }
    const bool keeps = end - first == 1 || random_() % 2 == 0;
    if (keeps) {
      const std::size_t kept = variant(first);
      schedule_.push_back({OperationKind::forward, first, Keep::variant, kept});
      run(first + 1, end, variant);
      schedule_.push_back({OperationKind::backward, first, Keep::nothing, kept});
      return;
    }
    const std::size_t middle = first + 1 + random_() % (end - first - 1);
    for (std::size_t i = first; i < middle; ++i) {
      schedule_.push_back({OperationKind::forward, i, i == first ? Keep::input : Keep::nothing});
    }
    run(middle, end, variant);
    run(first, middle, variant);
  }

  std::size_t blocks_;
  std::mt19937 random_;
  Schedule schedule_;
};

}  // namespace mylos::test
