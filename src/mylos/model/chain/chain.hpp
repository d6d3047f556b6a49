// Chain: a model as a sequence of blocks, followed by the head that computes the loss.
//
// The stages of a chain are its blocks and, after them, the head. Blocks are stateless and never change:
// copies of a chain share them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/block/loss_head.hpp"
#include "mylos/model/chain/skips.hpp"
#include "mylos/model/options.hpp"
#include "mylos/precision/options.hpp"

namespace mylos {

struct Chain {
  std::vector<std::shared_ptr<const Block>> blocks;
  std::vector<std::size_t> skips;  // of each block, as Skips takes them; missing entries: no_skip
  std::vector<GridShape> grids;    // of each block's output; empty if samples are not grids
  std::shared_ptr<const LossHead> head;
  std::int64_t rows_per_sample = 1;  // tokens per window
  MasterWeights masters = MasterWeights::fp32;
  bool input_gradients = false;  // backward can compute d loss / d x_0 too
  // Columns of a training sample's rows, if they hold more than the network reads and computes; 0: they do
  // not.
  std::int64_t training_inputs = 0;
  std::int64_t training_targets = 0;

  [[nodiscard]] std::int64_t inputs() const { return signature(0).inputs; }
  /// Returns the numbers of a sample's targets, or its classes. The last block computes several for
  /// each of distributions and quantiles.
  [[nodiscard]] std::int64_t outputs() const { return head->signature().outputs; }
  /// Returns the grid of the outputs; requires grids.
  [[nodiscard]] GridShape output_grid() const;
  [[nodiscard]] DType input_type() const { return signature(0).input_type; }
  [[nodiscard]] DType output_type() const { return head->signature().output_type; }
  [[nodiscard]] const LossTraits& loss() const { return head->loss(); }
  /// Returns what the outputs say about the targets.
  [[nodiscard]] Prediction prediction() const { return head->prediction(); }
  /// Returns whether the network computes a standard deviation of each output.
  [[nodiscard]] bool has_deviations() const { return prediction() == Prediction::distributions; }
  /// Returns the levels of the quantiles that it computes of each output; empty of other predictions.
  [[nodiscard]] std::span<const double> quantiles() const { return head->quantiles(); }
  [[nodiscard]] const Signature& signature(std::size_t stage) const;
  /// Returns the boundary that the block reads besides its input, or no_skip.
  [[nodiscard]] std::size_t skip_of(std::size_t block) const {
    return block < skips.size() ? skips[block] : no_skip;
  }
  [[nodiscard]] Skips all_skips() const;
  [[nodiscard]] const std::string& stage_name(std::size_t stage) const { return signature(stage).name; }
  [[nodiscard]] std::vector<ParameterSpec> stage_parameters(std::size_t stage) const;
  /// Returns whether any stage computes in this type: the scaler's mode "auto" depends on it.
  [[nodiscard]] bool computes_in(DType type) const;
  [[nodiscard]] std::int64_t parameter_count() const;
};

}  // namespace mylos
