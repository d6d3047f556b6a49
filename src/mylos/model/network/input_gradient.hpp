// InputGradient: the product of a network's Jacobian, transposed, with a vector, in evaluation mode: nothing
// is dropped out, and batch normalisation uses its running statistics.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/model/network/schedule_pass.hpp"

namespace mylos {

class InputGradient {
 public:
  /// What an object of such a chain allocates.
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain, const Engines& engines,
                                                std::int64_t samples);

  /// `chain`: with input_gradients, and a head without weights. For at most `samples` samples at a time. The
  /// weights of each stage, the buffers and the engines must outlive the object.
  InputGradient(const Chain& chain, const PassMemory::StageTensors& weights, const BufferStore& buffers,
                const Engines& engines, std::int64_t samples);
  InputGradient(const InputGradient&) = delete;  // passes refer to its members
  InputGradient& operator=(const InputGradient&) = delete;

  [[nodiscard]] std::int64_t samples() const { return memory_.samples; }
  /// Runs all blocks on input [rows, inputs], which must stay until the last backward(). Returns the output
  /// of the last block, what the head reads; it stays until the next forward().
  ConstTensor forward(const Execution& exec, const ConstTensor& input);
  /// The gradient of that output, for the caller to write before backward(), which changes it.
  [[nodiscard]] Tensor seed() const { return pass().output_gradient(); }
  /// Returns the gradient of the input, which stays until the next one. Once after each forward(), whose
  /// tensors it overwrites.
  ConstTensor backward(const Execution& exec);

 private:
  /// Gradients of weights, which some blocks write although nothing reads them: in the memory of one stage.
  [[nodiscard]] static std::size_t gradient_bytes(const Chain& chain);
  void place_gradients();
  [[nodiscard]] SchedulePass pass() const { return {placed_, memory_, input_}; }
  [[nodiscard]] StepContext context(const Execution& exec) const;

  Engines engines_;
  PlacedSchedule placed_;
  Arena activations_;
  Arena gradients_arena_;
  Arena input_gradients_;
  std::vector<std::vector<NamedTensor>> named_;
  PassMemory::StageTensors gradients_;
  PassMemory memory_;
  ConstTensor input_;  // of the last forward()
};

}  // namespace mylos
