// FastestSchedules: Rotor's schedules for budgets up to a given one, of a chain of any length.
//
// Where the dynamic program is affordable for the chain as it is, it is exact but for the rounding of bytes
// to slots. That depends on how many segments of the chain differ: some 380 blocks of any kind, and several
// thousand where a few layers repeat. Chains beyond that are planned in groups of neighbouring blocks.
#pragma once

#include <cstddef>
#include <optional>

#include "mylos/planner/rotor.hpp"
#include "mylos/planner/stage_groups.hpp"

namespace mylos {

class FastestSchedules {
 public:
  /// Up to some more than `budget` bytes: Rotor rounds what each stage keeps up to whole slots, so that its
  /// schedules need less than it counts.
  FastestSchedules(const ChainCost& cost, StageChain chain, std::size_t budget);

  /// Numbers of schedules: later ones are faster, or as fast, and need more. 0 where there are none.
  [[nodiscard]] std::size_t count() const { return rotor_ ? rotor_->slots() + 1 : 0; }
  /// Whether it is as fast as the one before it.
  [[nodiscard]] bool repeats(std::size_t number) const {
    return number > 0 && rotor_->time(number) == rotor_->time(number - 1);
  }
  /// Empty where nothing fits so few bytes.
  [[nodiscard]] std::optional<Schedule> schedule(std::size_t number) const;

  /// Whether the chain is so long that schedules are searched for by bisection, not one by one.
  [[nodiscard]] bool is_long() const { return is_long_; }
  /// The most neighbouring blocks that are planned as one.
  [[nodiscard]] std::size_t group() const { return groups_ ? groups_->max_blocks() : 1; }

 private:
  bool try_chain(StageChain chain, std::size_t room, std::size_t budget);

  bool is_long_ = false;
  std::optional<StageGroups> groups_;
  std::optional<Rotor> rotor_;
};

}  // namespace mylos
