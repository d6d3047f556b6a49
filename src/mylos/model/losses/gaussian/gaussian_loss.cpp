// gaussian: the negative log likelihood of a normal distribution for each target. The loss reads twice as
// many numbers as it has outputs, means and log variances (kernels/pointwise/gaussian_loss.hpp); its outputs
// are the means.
#include "mylos/kernels/pointwise/gaussian_loss.hpp"

#include "mylos/model/losses/field_loss.hpp"

namespace mylos {
namespace {

class GaussianLoss final : public FieldLoss {
 public:
  using FieldLoss::FieldLoss;

  [[nodiscard]] ConstTensor outputs_of(const StepContext& context, const LossMemory& memory) const override {
    const Distributions of(*this, memory.input.rows(), own_workspace(memory));
    gaussian_means(context.exec, points(memory.constants), memory.input, of.means);
    return of.means;
  }
  [[nodiscard]] ConstTensor deviations_of(const StepContext& context,
                                          const LossMemory& memory) const override {
    const Distributions of(*this, memory.input.rows(), own_workspace(memory));
    gaussian_deviations(context.exec, points(memory.constants), memory.input, of.deviations);
    return of.deviations;
  }

 private:
  struct Distributions {
    Distributions(const GaussianLoss& loss, std::int64_t rows, std::byte* memory)
        : pieces(memory),
          means(pieces.take_tensor(loss.signature().output_type, rows, loss.signature().outputs)),
          deviations(pieces.take_tensor(DType::fp32, rows, loss.signature().outputs)) {}

    Pieces pieces;
    Tensor means, deviations;
  };

  void compute(const Call& call) const override {
    gaussian_likelihood(call.exec, points(call.constants), call.arrays);
  }
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t rows) const override {
    return Distributions(*this, rows, nullptr).pieces.bytes();
  }
  [[nodiscard]] double flops_of_output() const override { return 50; }  // with two exponentials
};

}  // namespace

std::unique_ptr<LossHead> losses::Gaussian::make(const ModelOptions& model, const LossInput& input) const {
  return std::make_unique<GaussianLoss>(model, input);
}

}  // namespace mylos
