// LossHead: what ends the chain: from the last boundary activation to the loss, its gradient, and the
// gradients of the head's own weights.
//
// The head is the stage behind the last block: its parameters have slots of that number. Like a block it
// states its workspace from shapes alone and owns no memory. It keeps nothing between calls.
#pragma once

#include <optional>
#include <span>

#include "mylos/model/block/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

/// What the loss compares with; one of the two is set (device memory).
struct Truth {
  const std::int32_t* labels = nullptr;  // [rows], cross_entropy
  const float* targets = nullptr;        // [rows, outputs], mse
  std::int64_t classes = 0;              // cross_entropy: what lies beyond pads the outputs; 0: nothing does
};

/// Sums over rows, in device memory.
struct LossSums {
  double loss = 0;
  std::int64_t correct = 0;  // classification: rows whose largest output is their label
};

/// A parameter of a block that the head reads too; both add to its gradient, the head first.
struct BorrowedParameter {
  std::size_t block = 0;
  std::string name;      // among the block's parameters
  std::string own_name;  // by which the head knows it
};

struct LossCost {
  std::size_t workspace = 0;  // a multiple of arena_alignment
  double flops = 0;           // of evaluate_and_seed
};

struct LossMemory {
  ParameterTensors weights;  // a borrowed one by the name that the head gives it
  Tensor input;              // [rows, inputs]; is not changed
  std::byte* workspace = nullptr;
  const float* constants = nullptr;  // those of constants(), in device memory
};

struct LossGradients {
  ParameterTensors weights;      // as LossMemory::weights
  bool accumulate = false;       // add to what the gradient buffers hold
  Tensor input;                  // d loss / d input, like the input
  const float* scale = nullptr;  // device memory; the gradients are those of scale · inverse_count ·
  float inverse_count = 1;       // (sum of the rows' losses)
};

class LossHead {
 public:
  virtual ~LossHead() = default;

  [[nodiscard]] virtual const Signature& signature() const = 0;
  [[nodiscard]] virtual LossType loss() const = 0;
  /// Its own parameters.
  [[nodiscard]] virtual std::vector<ParameterSpec> parameters() const { return {}; }
  [[nodiscard]] virtual std::optional<BorrowedParameter> borrows() const { return std::nullopt; }
  /// What it reads besides, which nothing changes (BufferStore places it).
  [[nodiscard]] virtual std::span<const float> constants() const { return {}; }
  [[nodiscard]] virtual LossCost cost(const GemmEngine& gemm, std::int64_t rows) const = 0;
  /// Of evaluate_and_seed.
  [[nodiscard]] virtual std::vector<BlockProduct> products(std::int64_t /*rows*/) const { return {}; }

  /// Adds the losses of all rows to `sums`.
  virtual void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                        LossSums* sums) const = 0;
  /// The same, and writes the gradients.
  virtual void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                 const LossGradients& gradients, LossSums* sums) const = 0;
  /// Logits or predictions [rows, outputs] of the rows of memory.input, which may lie in the workspace.
  /// Throws Error for more rows than the workspace takes.
  [[nodiscard]] virtual Tensor outputs_of(const StepContext& context, const LossMemory& memory) const = 0;
};

}  // namespace mylos
