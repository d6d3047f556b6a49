// ForwardPass: forward passes in evaluation mode. It owns neither weights nor memory.
//
// Nothing is stored for backward and nothing is dropped out. The training model (training_model.hpp) and the
// inference model (inference/inference_model.hpp) run this code on their own weights, statistics and
// activations.
#pragma once

#include <span>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/memory/placement.hpp"
#include "mylos/model/network/observer.hpp"

namespace mylos {

class ForwardPass {
 public:
  /// The compute weights of each stage of the chain, in the order of its parameters; a parameter that the
  /// head borrows comes last in the head's.
  using StageWeights = std::vector<std::span<const NamedTensor>>;

  /// For at most `samples` samples at a time. `layout` places the activations in `activations`. The chain,
  /// the weights, the buffers and the arena must outlive the object, and stay where they are.
  ForwardPass(const Chain& chain, StageWeights weights, const BufferStore& buffers, std::int64_t samples,
              EvaluationLayout layout, const Arena& activations);

  [[nodiscard]] const Chain& chain() const { return chain_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }

  /// Throws Error where the pass was not planned for such an input, or the context's cache has no room for
  /// it.
  void require_planned(const StepContext& context, const ConstTensor& input) const;
  /// Runs all blocks on input [rows, inputs], which must stay valid until the outputs are read.
  void forward(const StepContext& context, const ConstTensor& input, const Observer* observer = nullptr);
  /// Returns the last block's output for the rows of the last forward().
  [[nodiscard]] const Tensor& output() const { return output_; }
  /// Returns what the head reads after the last forward().
  [[nodiscard]] LossMemory head_memory() const;
  /// Returns the head's outputs (logits, predictions) for rows [first, first + count) of the last forward().
  [[nodiscard]] ConstTensor head_outputs(const StepContext& context, std::int64_t first,
                                         std::int64_t count) const;
  /// Returns the standard deviations of these outputs, floats in the units of training, which leave the
  /// outputs. Requires has_deviations() of the chain.
  [[nodiscard]] ConstTensor head_deviations(const StepContext& context, std::int64_t first,
                                            std::int64_t count) const;
  /// Likewise the quantiles of level chain.quantiles()[level], which may overwrite the outputs.
  [[nodiscard]] ConstTensor head_quantiles(const StepContext& context, std::int64_t first, std::int64_t count,
                                           std::size_t level) const;
  /// Adds the loss of the last forward() to `sums`.
  void loss(const StepContext& context, const Truth& truth, LossSums* sums) const;

 private:
  [[nodiscard]] Tensor tensor_of(std::size_t boundary, std::size_t offset) const;
  [[nodiscard]] ConstTensor skip_of(std::size_t block) const;
  [[nodiscard]] std::byte* at(std::size_t offset) const;

  const Chain& chain_;
  Skips skips_;
  StageWeights weights_;
  const BufferStore& buffers_;
  std::int64_t samples_;
  EvaluationLayout layout_;
  const Arena& activations_;
  ConstTensor input_;  // of the last forward()
  Tensor output_;
};

}  // namespace mylos
