// SchedulePass: runs the operations of a schedule on the tensors of one micro-batch. It owns nothing.
#pragma once

#include <span>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/memory/placement.hpp"

namespace mylos {

/// What a pass runs, and where its tensors lie in an arena.
struct PlacedSchedule {
  PlacedSchedule(Chain of, const ChainCost& cost, Schedule operations);

  Chain chain;
  Skips skips;
  Schedule schedule;
  Lifetimes lifetimes;
  Placement placement;
  std::vector<bool> fused;  // by operation: also computes the norm of the next one (fused_norms.hpp)
  std::size_t loss = 0;     // operation of the schedule
};

/// Returns the bytes of the gradients of the input of `samples` samples; 0 if `chain` does not want them.
[[nodiscard]] std::size_t input_gradient_bytes(const Chain& chain, std::int64_t samples);

/// The memory of a pass. In a rollout, whose schedule has several copies of a chain, stages are those of one.
struct PassMemory {
  using StageTensors = std::vector<std::span<const NamedTensor>>;

  const StageTensors& weights;    // of each stage
  const StageTensors& gradients;  // likewise
  const BufferStore& buffers;
  const Arena& activations;
  const Arena& input_gradients;  // input_gradient_bytes()
  std::int64_t samples = 0;      // the max
};

/// What a backward operation computes.
struct BackwardWants {
  bool accumulate = false;  // add to the contents of the gradients of weights
  bool weights = true;      // the gradients of weights
  bool input = false;       // that of the chain's input; only if the chain has input_gradients
};

class SchedulePass {
 public:
  /// `input`: [rows, inputs] of the micro-batch. All must outlive the object.
  SchedulePass(const PlacedSchedule& placed, const PassMemory& memory, const ConstTensor& input);

  /// Runs operation `i` of the schedule, a forward one.
  void forward(const StepContext& context, std::size_t i, bool is_recompute) const;
  /// Likewise a backward one.
  void backward(const StepContext& context, std::size_t i, const BackwardWants& wants) const;

  /// Returns x_boundary, or its gradient, which lies at this offset.
  [[nodiscard]] Tensor tensor_of(std::size_t boundary, std::size_t offset) const;
  /// Returns the last block's output, and its gradient, as the loss reads and writes them.
  [[nodiscard]] Tensor output() const;
  [[nodiscard]] Tensor output_gradient() const;
  /// Returns the gradient of x_0 by the first block (0), which is that of all after the last operation, or by
  /// the blocks that read it as a skip (1).
  [[nodiscard]] Tensor input_gradient(std::size_t part) const;
  [[nodiscard]] std::byte* at(std::size_t offset) const;
  /// Returns the stage of a block, in one copy.
  [[nodiscard]] std::size_t stage_of(std::size_t block) const;

 private:
  [[nodiscard]] ConstTensor skip_of(std::size_t block, std::size_t offset) const;
  [[nodiscard]] BlockMemory memory_of(std::size_t i) const;

  const PlacedSchedule& placed_;
  const PassMemory& memory_;
  ConstTensor input_;
};

}  // namespace mylos
