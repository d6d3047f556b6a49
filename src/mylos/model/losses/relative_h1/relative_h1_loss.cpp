// relative_h1: the norm of a field's error divided by that of its targets, both with derivatives.
#include "mylos/model/losses/field_loss.hpp"

namespace mylos {
namespace {

class RelativeH1Loss final : public FieldLoss {
 public:
  using FieldLoss::FieldLoss;  // which requires a grid, and so makes a norm

 private:
  void compute(const Call& call) const override {
    relative_h1_of_field(call.exec, points(call.constants), norm()->derivatives(call.constants),
                         norm()->per_channel(), call.arrays, reinterpret_cast<float*>(call.workspace));
  }
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t rows) const override {
    return static_cast<std::size_t>(norm()->workspace_numbers(rows)) * sizeof(float);
  }
  [[nodiscard]] double flops_of_output() const override {
    return FieldLoss::flops_of_output() + norm()->flops_of_derivatives();
  }
};

}  // namespace

std::unique_ptr<LossHead> losses::RelativeH1::make(const ModelOptions& model, const LossInput& input) const {
  return std::make_unique<RelativeH1Loss>(model, input);
}

}  // namespace mylos
