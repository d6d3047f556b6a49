// Chain: a model as a sequence of blocks, gathered into layer groups, and the loss at its end.
#pragma once

#include <memory>
#include <vector>

#include "mylos/model/block.hpp"
#include "mylos/model/options.hpp"
#include "mylos/precision/options.hpp"

namespace mylos {

/// Blocks [first, last] whose gradients are complete, and may be reduced, together.
struct LayerGroup {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct Chain {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<LayerGroup> groups;     // in forward order, covering all blocks
  std::vector<DType> gradient_types;  // of each block's parameters
  LossType loss = LossType::cross_entropy;

  [[nodiscard]] std::int64_t inputs() const { return blocks.front()->inputs(); }
  [[nodiscard]] std::int64_t outputs() const { return blocks.back()->outputs(); }
  [[nodiscard]] DType input_type() const { return blocks.front()->input_type(); }
  [[nodiscard]] DType output_type() const { return blocks.back()->output_type(); }
  /// True where anything computes in half: what the scaler's mode "auto" asks.
  [[nodiscard]] bool computes_in(DType type) const;
  [[nodiscard]] std::int64_t parameter_count() const;
};

/// Throws Error (bad_input) if a rule of the deck speaks of no layer of the chain.
void require_rules_apply(const Chain& chain, const PrecisionOptions& precision);

/// The multi-layer perceptron of the deck: hidden1, [norm1,] hidden2, ..., head. `model.inputs` and
/// `model.outputs` are set. `accumulates`: a step has several micro-batches.
[[nodiscard]] Chain make_mlp(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                             bool accumulates);

}  // namespace mylos
