// l1: the mean of absolute errors.
#include "mylos/model/losses/field_loss.hpp"
#include "mylos/model/losses/loss_kinds.hpp"

namespace mylos {
namespace {

class AbsoluteErrorLoss final : public FieldLoss {
 public:
  using FieldLoss::FieldLoss;

 private:
  void compute(const Call& call) const override {
    if (!norm()) return mean_absolute_error(call.exec, call.arrays);
    weighted_absolute_error(call.exec, points(call.constants), call.arrays);
  }
};

}  // namespace

std::unique_ptr<LossHead> make_l1(const ModelOptions& model, const LossInput& input) {
  return std::make_unique<AbsoluteErrorLoss>(model, input);
}

}  // namespace mylos
