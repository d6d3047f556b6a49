#include "mylos/model/losses/boxes/loss_of_boxes.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/grid/sum_boxes.hpp"
#include "mylos/model/block/loss_sums.hpp"

namespace mylos {
namespace {

/// Each box has the loss that a rank with this box alone has. Outputs are those of the loss of all of them.
class LossOfBoxes final : public LossHead {
 public:
  LossOfBoxes(const ModelOptions& model, const LossInput& input)
      : all_(make_loss(model, input)),
        outputs_(input.shape.grid, model.part),
        targets_(grid_of_targets(model, input), model.part) {
    const auto append_constants = [&](const LossHead& loss) {
      const std::span<const float> own = loss.constants();
      constants_.insert(constants_.end(), own.begin(), own.end());
    };
    append_constants(*all_);
    ModelOptions of_box = model;
    LossInput box{.numbers = outputs_.grid().columns(),
                  .type = input.type,
                  .shape = {outputs_.grid(), input.shape.axes}};
    const GridPart first = model.part.first_sum_box();
    for (int index = 0; index < outputs_.count(); ++index) {
      of_box.part = first;
      const Extents at = outputs_.at_of(index);
      for (std::size_t axis = 0; axis < 3; ++axis) of_box.part.at[axis] += at[axis];
      boxes_.push_back({make_loss(of_box, box), constants_.size()});
      append_constants(*boxes_.back().loss);
    }
  }

  [[nodiscard]] const Signature& signature() const override { return all_->signature(); }
  [[nodiscard]] const LossTraits& loss() const override { return all_->loss(); }
  [[nodiscard]] std::span<const float> constants() const override { return constants_; }
  [[nodiscard]] std::optional<OutputField> field() const override { return all_->field(); }
  [[nodiscard]] LossCost cost(const Engines& engines, std::int64_t rows) const override {
    LossCost cost = all_->cost(engines, rows);
    const LossCost of_box = boxes_.front().loss->cost(engines, rows);
    cost.workspace = std::max(cost.workspace, Memory(*this, rows, nullptr).pieces.bytes() + of_box.workspace);
    return cost;
  }
  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override {
    evaluate_and_seed(context, memory, truth, {}, sums);
  }
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override;
  [[nodiscard]] ConstTensor outputs_of(const StepContext& context, const LossMemory& memory) const override {
    return all_->outputs_of(context, memory);
  }
  [[nodiscard]] ConstTensor deviations_of(const StepContext& context,
                                          const LossMemory& memory) const override {
    return all_->deviations_of(context, memory);
  }
  [[nodiscard]] std::span<const double> quantiles() const override { return all_->quantiles(); }
  [[nodiscard]] ConstTensor quantile_of(const StepContext& context, const LossMemory& memory,
                                        std::size_t level) const override {
    return all_->quantile_of(context, memory, level);
  }

 private:
  struct BoxLoss {
    std::unique_ptr<LossHead> loss;
    std::size_t first_constant = 0;
  };

  /// The memory of one box, and the sums of all.
  struct Memory {
    Memory(const LossOfBoxes& loss, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
      const DType type = loss.signature().input_type;
      sums = pieces.take<LossSums>(loss.outputs_.count());
      outputs = loss.outputs_.take_points(pieces, type, rows);
      gradient = loss.outputs_.take_points(pieces, type, rows);
      targets = loss.targets_.take_points(pieces, DType::fp32, rows);
      rest = pieces.take_bytes(0);
    }

    Pieces pieces;
    LossSums* sums;
    Tensor outputs, gradient, targets;
    std::byte* rest;
  };

  [[nodiscard]] static GridShape grid_of_targets(const ModelOptions& model, const LossInput& input) {
    GridShape grid = input.shape.grid;
    grid.channels /= outputs_per_target(model.loss);
    return grid;
  }

  std::unique_ptr<LossHead> all_;
  SumBoxes outputs_;
  SumBoxes targets_;
  std::vector<BoxLoss> boxes_;
  std::vector<float> constants_;  // of all_ and of each box
};

void LossOfBoxes::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                    const LossGradients& gradients, LossSums* sums) const {
  const Execution& exec = context.exec;
  const std::int64_t rows = memory.input.rows();
  const Memory own(*this, rows, memory.workspace);
  const ConstTensor targets(truth.targets, DType::fp32, rows, signature().outputs);
  const bool has_gradient = !gradients.input.empty();
  LossGradients of_gradient = gradients;
  if (has_gradient) of_gradient.input = own.gradient;
  of_gradient.inverse_count /= static_cast<float>(outputs_.count());
  for (int box = 0; box < outputs_.count(); ++box) {
    const BoxLoss& of_box = boxes_[static_cast<std::size_t>(box)];
    outputs_.copy_points(exec, box, memory.input, own.outputs);
    targets_.copy_points(exec, box, targets, own.targets);
    const LossMemory memory_of_box{
        .weights = {},
        .input = own.outputs,
        .workspace = own.rest,
        .constants = memory.constants == nullptr ? nullptr : memory.constants + of_box.first_constant};
    clear_sums(exec, own.sums + box);
    of_box.loss->evaluate_and_seed(context, memory_of_box, {.targets = own.targets.as<float>()}, of_gradient,
                                   own.sums + box);
    if (has_gradient) outputs_.put_points(exec, box, own.gradient, gradients.input);
  }
  add_mean_by_tree(exec, own.sums, outputs_.count(), sums);
}

}  // namespace

std::unique_ptr<LossHead> make_loss_of_boxes(const ModelOptions& model, const LossInput& input) {
  return std::make_unique<LossOfBoxes>(model, input);
}

}  // namespace mylos
