// Stages: a chain of blocks as the planner's dynamic programs see it.
//
// The stages are 0 … last. The last is the loss, which runs once, forward and backward in one operation. A
// stage may stand for several neighbouring blocks (stage_groups.hpp). All bytes are exact.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/memory/schedule.hpp"

namespace mylos {

/// One way in which a stage i stores what its backward pass reads.
struct StageVariant {
  std::size_t kept = 0;                // x_{i+1} and what the variant saves
  std::size_t forward_workspace = 0;   // in the forward pass that keeps it
  std::size_t backward_workspace = 0;  // β_iv
  double time = 0;                     // f_i + b_i + r_iv, in milliseconds

  bool operator==(const StageVariant&) const = default;
};

struct Stage {
  std::size_t input = 0;             // x_i without what is carried past it
  std::vector<std::size_t> carried;  // what is carried past x_i and x_q, q < i, does not hold: by q, or empty
  std::size_t input_gradient = 0;    // what backward writes: δ_i, the first block none; of a skip
  std::size_t output = 0;            // x_{i+1} without what is carried past it
  std::size_t output_gradient = 0;   // δ_{i+1} with it
  std::size_t pass_workspace = 0;    // in a forward pass that keeps nothing but the input
  double forward_time = 0;           // milliseconds
  std::vector<StageVariant> variants;

  /// Bytes of x_i that are not those of x_q, q < i, too.
  [[nodiscard]] std::size_t input_beside(std::size_t q) const {
    return carried.empty() ? input : input + carried[q];
  }
};

[[nodiscard]] std::vector<Stage> stages_of(const ChainCost& cost);

/// Bytes that segment (i, k) needs while stage i runs forward keeping `variant`, and while it runs backward.
[[nodiscard]] std::size_t keep_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k,
                                     const StageVariant& variant);

/// Bytes that segment (i, k) needs while stage q >= i runs forward keeping nothing but x_i.
[[nodiscard]] std::size_t pass_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k,
                                     std::size_t q);

/// How segment (i, k) runs: the stages i … k with x_i in memory, which does not count, and δ_{k+1}, which
/// does.
struct SegmentChoice {
  std::size_t stop = 0;     // where the pass that comes back ends; i: stage i keeps a variant
  std::size_t variant = 0;  // that it keeps
  std::size_t left = 0;     // slots for the segment that runs next
};

/// Appends the operations of segment (i, k) in `m` slots, as `choose` says for it and for what it falls into.
template <class Choose>
void append_segment(Schedule& schedule, std::size_t stages, std::size_t i, std::size_t k, std::size_t m,
                    const Choose& choose) {
  const SegmentChoice chosen = choose(i, k, m);
  if (chosen.stop > i) {
    schedule.push_back({OperationKind::forward, i, Keep::input});
    for (std::size_t q = i + 1; q < chosen.stop; ++q)
      schedule.push_back({OperationKind::forward, q, Keep::nothing});
    append_segment(schedule, stages, chosen.stop, k, chosen.left, choose);
    append_segment(schedule, stages, i, chosen.stop - 1, m, choose);
    return;
  }
  if (i + 1 == stages) {
    schedule.push_back({OperationKind::loss, i});
    return;
  }
  schedule.push_back({OperationKind::forward, i, Keep::variant, chosen.variant});
  if (i < k) append_segment(schedule, stages, i + 1, k, chosen.left, choose);
  schedule.push_back({OperationKind::backward, i, Keep::nothing, chosen.variant});
}

}  // namespace mylos
