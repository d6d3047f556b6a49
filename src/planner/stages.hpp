// The chain as the recurrences see it: stages 0 … last, of which the last is the loss, which runs once,
// forward and backward in one operation. Bytes are exact.
//
// A segment (i, k) is the stages i … k with x_i in memory, which does not count, and δ_{k+1}, which does.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/schedule.hpp"

namespace mylos {

struct StageVariant {
  std::size_t kept = 0;                // x_{i+1} and what the variant saves
  std::size_t backward_workspace = 0;  // β_iv
  double time = 0;                     // f_i + b_i + r_iv
};

struct Stage {
  std::size_t input = 0;           // x_i
  std::size_t input_gradient = 0;  // δ_i; the first block computes none
  std::size_t output = 0;          // x_{i+1}
  std::size_t forward_workspace = 0;
  double forward_time = 0;
  std::vector<StageVariant> variants;
};

[[nodiscard]] std::vector<Stage> stages_of(const ChainCost& cost);

/// Bytes that segment (i, k) needs while stage i runs forward keeping `variant`, and while it runs backward.
[[nodiscard]] std::size_t keep_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k,
                                     const StageVariant& variant);

/// Bytes that segment (i, k) needs while stage q >= i runs forward keeping nothing but x_i.
[[nodiscard]] std::size_t pass_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k,
                                     std::size_t q);

/// The operations of a segment, appended as the recurrences' choices are followed.
void append_pass(Schedule& schedule, std::size_t i, std::size_t j);
void append_forward(Schedule& schedule, const std::vector<Stage>& stages, std::size_t i, std::size_t variant);
void append_backward(Schedule& schedule, const std::vector<Stage>& stages, std::size_t i,
                     std::size_t variant);

}  // namespace mylos
