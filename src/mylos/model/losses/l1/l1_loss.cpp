// l1: the mean of absolute errors.
#include "mylos/model/losses/field_loss.hpp"

namespace mylos {
namespace {

class AbsoluteErrorLoss final : public FieldLoss {
 public:
  using FieldLoss::FieldLoss;

 private:
  void compute(const Call& call) const override {
    if (is_plain()) return mean_absolute_error(call.exec, call.arrays);
    weighted_absolute_error(call.exec, points(call.constants), call.arrays);
  }
};

}  // namespace

std::unique_ptr<LossHead> losses::L1::make(const ModelOptions& model, const LossInput& input) const {
  return std::make_unique<AbsoluteErrorLoss>(model, input);
}

}  // namespace mylos
