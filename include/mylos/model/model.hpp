// Model: a chain of blocks with its parameters and the activation arena of one micro-batch.
//
// forward → loss → backward for a micro-batch; gradients are added up over the micro-batches of a step.
#pragma once

#include <functional>

#include "mylos/model/activation_layout.hpp"
#include "mylos/model/chain.hpp"
#include "mylos/model/parameter_store.hpp"

namespace mylos {

/// What the loss compares with; one of the two is set (device memory).
struct Truth {
  const std::int32_t* labels = nullptr;  // [rows], cross_entropy
  const float* targets = nullptr;        // [rows, outputs], mse
};

/// Sums over samples, in device memory.
struct LossSums {
  double loss = 0;
  std::int64_t correct = 0;  // classification: samples whose largest output is their label
};

/// The operations of a step and where each left its tensors; called after each, for checks.
struct Observation {
  std::size_t block = 0;
  const char* tensor = "";  // "input", "weight", "output", "output gradient", "weight gradient", ...
  Tensor value;
};
using Observer = std::function<void(const Observation&)>;

/// Called with a block's index when the gradients of its parameters are complete.
using BlockDone = std::function<void(std::size_t)>;

class Model {
 public:
  /// `rows`: the most samples of a micro-batch. `gemm` must outlive the model.
  Model(Chain chain, GemmEngine& gemm, std::int64_t rows, std::int64_t bucket_bytes, int world);

  [[nodiscard]] const Chain& chain() const { return chain_; }
  [[nodiscard]] ParameterStore& parameters() { return parameters_; }
  [[nodiscard]] const ParameterStore& parameters() const { return parameters_; }
  [[nodiscard]] std::size_t activation_bytes() const { return arena_.bytes(); }
  [[nodiscard]] const ActivationLayout& activation_layout() const { return activations_; }

  /// Runs all blocks; the result is output().
  void forward(const StepContext& context, const Tensor& input, const Observer* observer = nullptr);
  /// The last block's output for the rows of the last forward().
  [[nodiscard]] Tensor output() const;
  /// Adds the loss of the last forward() to `sums`.
  void loss(const StepContext& context, const Truth& truth, LossSums* sums);
  /// The same, and seeds backward(): d outputs = scale · inverse_count · d(sum of the samples' losses).
  void loss_and_seed(const StepContext& context, const Truth& truth, const float* scale, float inverse_count,
                     LossSums* sums, const Observer* observer = nullptr);
  /// Gradients of all parameters; `accumulate` adds them to what the gradient arena holds.
  void backward(const StepContext& context, bool accumulate, const BlockDone& block_done,
                const Observer* observer = nullptr);

 private:
  [[nodiscard]] BlockMemory memory_of(std::size_t block, std::size_t workspace) const;
  [[nodiscard]] Tensor output_of(std::size_t block) const;
  [[nodiscard]] Tensor output_gradient_of(std::size_t block) const;
  void evaluate_loss(const StepContext& context, const Truth& truth, const Tensor& seed, const float* scale,
                     float inverse_count, LossSums* sums);

  Chain chain_;
  ParameterStore parameters_;
  ActivationLayout activations_;
  Arena arena_;
  Tensor input_;  // of the last forward
};

}  // namespace mylos
