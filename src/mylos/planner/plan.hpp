// Plan: the operations of a step, where their tensors lie, and how long they should take.
#pragma once

#include <cstddef>
#include <optional>

#include "mylos/model/memory/placement.hpp"
#include "mylos/model/memory/schedule.hpp"
#include "mylos/planner/options.hpp"

namespace mylos {

struct Plan {
  Schedule schedule;
  Placement placement;
  std::size_t live_peak = 0;  // bytes alive at one time: no placement takes less
  double time = 0;            // milliseconds of the operations of one micro-batch
  double store_all_time = 0;  // of the list in which every block keeps all
  // The most neighbouring blocks that were planned as one: more than 1 where the chain is too long for an
  // exact search.
  std::size_t group = 1;

  /// By how much recomputation lengthens the micro-batch: 0.05 = 5 %.
  [[nodiscard]] double overhead() const { return store_all_time > 0 ? time / store_all_time - 1 : 0; }
};

/// The list as it stands. Throws bad input where it cannot be executed.
[[nodiscard]] Plan plan_of_list(const ChainCost& cost, Schedule schedule);

/// The plan that `options.recompute` asks for, if its placement takes at most `budget` bytes: those of the
/// arena of one micro-batch, which holds boundary activations, what is saved, gradients of activations and
/// workspace. `automatic`: the fastest that fits of Rotor's lists (fastest_schedules.hpp), of every k-th
/// block and of the list of fewest bytes. Empty where none fits. Throws bad input where the groups are not
/// those of a chain of this length.
[[nodiscard]] std::optional<Plan> make_plan(const ChainCost& cost, std::size_t budget,
                                            const MemoryOptions& options);

/// The plan of the fewest bytes of those that `options.recompute` allows, for "the smallest budget that would
/// do": make_plan succeeds from placement.bytes of this plan on.
[[nodiscard]] Plan smallest_plan(const ChainCost& cost, const MemoryOptions& options = {});

}  // namespace mylos
