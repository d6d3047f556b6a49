// LossHead: the end of the chain. It maps the last boundary activation to the loss, computes the loss's
// gradient and the gradients of its own weights.
//
// The head is the stage after the last block, and its parameters have slots of that number. Like a block, it
// states its workspace from shapes alone and owns no memory. It stores nothing between calls.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/block/block_product.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

/// The targets of the loss; one of the two is set (device memory).
struct Truth {
  const std::int32_t* labels = nullptr;  // [rows], of classes
  const float* targets = nullptr;        // [rows, outputs], of the others
  std::int64_t classes = 0;              // of classes: outputs from here on are padding; 0: no padding
};

/// Sums over rows, in device memory.
struct LossSums {
  double loss = 0;
  std::int64_t correct = 0;  // classification: rows whose largest output is at their label
};

/// A block's parameter that the head reads too. Both add to its gradient, the head first.
struct BorrowedParameter {
  std::size_t block = 0;
  std::string name;      // the block's name for it
  std::string own_name;  // the head's name for it
};

/// The field that a network's outputs form, and how a loss takes norms of it.
struct OutputField {
  GridShape grid;
  std::size_t axes = 1;  // the last axes of the three
  LossPer per = LossPer::sample;
  Derivative derivative = Derivative::differences;
  std::shared_ptr<const PointWeights> weights = {};  // null: all are 1
  bool skips_missing = false;                        // targets that are NaN
  double share = 1;  // factor of the loss: that of a box whose points are not the mean of all boxes
};

struct LossCost {
  std::size_t workspace = 0;  // a multiple of arena_alignment
  double flops = 0;           // of evaluate_and_seed
};

struct LossMemory {
  ParameterTensors weights;  // a borrowed one has the head's name
  ConstTensor input;         // [rows, inputs]
  std::byte* workspace = nullptr;
  const float* constants = nullptr;  // the values of constants(), in device memory
};

struct LossGradients {
  ParameterTensors weights;      // as LossMemory::weights
  bool accumulate = false;       // add to the contents of the gradient buffers
  Tensor input;                  // d loss / d input, like the input
  const float* scale = nullptr;  // device memory; the gradients are those of
  float inverse_count = 1;       // scale · inverse_count · (sum of the losses of the rows)
};

class LossHead {
 public:
  virtual ~LossHead() = default;

  [[nodiscard]] virtual const Signature& signature() const = 0;
  /// Returns what is known of the loss; a constant.
  [[nodiscard]] virtual const LossTraits& loss() const = 0;
  [[nodiscard]] Prediction prediction() const { return loss().prediction; }
  /// Returns the head's own parameters.
  [[nodiscard]] virtual std::vector<ParameterSpec> parameters() const { return {}; }
  [[nodiscard]] virtual std::optional<BorrowedParameter> borrows() const { return std::nullopt; }
  /// Returns the constants that the head reads (stored by BufferStore).
  [[nodiscard]] virtual std::span<const float> constants() const { return {}; }
  /// Returns the field that the outputs are; nothing for outputs that do not lie on a grid.
  [[nodiscard]] virtual std::optional<OutputField> field() const { return std::nullopt; }
  [[nodiscard]] virtual LossCost cost(const Engines& engines, std::int64_t rows) const = 0;
  /// Returns the GEMMs of evaluate_and_seed.
  [[nodiscard]] virtual std::vector<BlockProduct> products(std::int64_t /*rows*/) const { return {}; }

  /// Adds the losses of all rows to `sums`.
  virtual void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                        LossSums* sums) const = 0;
  /// Adds the losses of all rows to `sums` and writes the gradients.
  virtual void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                 const LossGradients& gradients, LossSums* sums) const = 0;
  /// Returns logits or predictions (of distributions the means, of quantiles those of
  /// central_quantile()) [rows, outputs] for the rows of memory.input;
  /// they may lie in the workspace. Throws Error if the rows exceed what the workspace holds.
  [[nodiscard]] virtual ConstTensor outputs_of(const StepContext& context,
                                               const LossMemory& memory) const = 0;
  /// Returns the standard deviations of these outputs, in the units of training, floats [rows, outputs] in
  /// the workspace, where they leave the outputs. Only of Chain::has_deviations(); else throws Error.
  [[nodiscard]] virtual ConstTensor deviations_of(const StepContext& /*context*/,
                                                  const LossMemory& /*memory*/) const;
  /// Returns the levels of the quantiles that the network computes; of Prediction::quantiles alone.
  [[nodiscard]] virtual std::span<const double> quantiles() const { return {}; }
  /// Returns those of level quantiles()[level], in the units of training, floats [rows, outputs] in the
  /// workspace, where they may overwrite the outputs. Only where there are levels; else throws Error.
  [[nodiscard]] virtual ConstTensor quantile_of(const StepContext& /*context*/, const LossMemory& /*memory*/,
                                                std::size_t /*level*/) const;
};

/// Returns the level whose quantiles are the outputs: the nearest to 0.5, of two the lower.
[[nodiscard]] std::size_t central_quantile(std::span<const double> levels);

}  // namespace mylos
