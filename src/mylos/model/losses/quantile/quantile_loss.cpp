// quantile: the pinball loss of quantiles of each target. The loss reads a number for each level and target
// (kernels/pointwise/quantile_loss.hpp); its outputs are those of the level nearest to 0.5.
#include "mylos/kernels/pointwise/quantile_loss.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/losses/field_loss.hpp"

namespace mylos {
namespace {

class QuantileLoss final : public FieldLoss {
 public:
  QuantileLoss(const std::vector<double>& levels, const ModelOptions& model, const LossInput& input)
      : FieldLoss(model, input), levels_(levels), values_(levels) {}

  [[nodiscard]] std::span<const double> quantiles() const override { return levels_; }
  [[nodiscard]] ConstTensor outputs_of(const StepContext& context, const LossMemory& memory) const override {
    return at(context, memory, central_quantile(levels_), signature().output_type);
  }
  [[nodiscard]] ConstTensor quantile_of(const StepContext& context, const LossMemory& memory,
                                        std::size_t level) const override {
    return at(context, memory, level, DType::fp32);
  }

 private:
  [[nodiscard]] Tensor at(const StepContext& context, const LossMemory& memory, std::size_t level,
                          DType type) const {
    Pieces pieces(own_workspace(memory));
    const Tensor to = pieces.take_tensor(type, memory.input.rows(), signature().outputs);
    quantiles_at(context.exec, points(memory.constants), values_.count, static_cast<std::int64_t>(level),
                 memory.input, to);
    return to;
  }
  void compute(const Call& call) const override {
    quantile_loss(call.exec, points(call.constants), values_, call.arrays);
  }
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t rows) const override {
    Pieces pieces(nullptr);
    pieces.take_tensor(DType::fp32, rows, signature().outputs);
    return pieces.bytes();
  }
  [[nodiscard]] double flops_of_output() const override { return 4.0 * values_.count; }

  std::vector<double> levels_;
  QuantileLevels values_;
};

}  // namespace

std::unique_ptr<LossHead> losses::Quantile::make(const ModelOptions& model, const LossInput& input) const {
  static_assert(max_quantiles == QuantileLevels::max_count);
  if (!are_levels_valid())
    fail_input(errors::bad_value, "model.quantiles: give 1 to {} levels that ascend", max_quantiles);
  return std::make_unique<QuantileLoss>(levels, model, input);
}

}  // namespace mylos
