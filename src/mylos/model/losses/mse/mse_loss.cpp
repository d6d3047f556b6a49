// mse: the mean of squared errors.
#include "mylos/model/losses/field_loss.hpp"

namespace mylos {
namespace {

class SquaredErrorLoss final : public FieldLoss {
 public:
  using FieldLoss::FieldLoss;

 private:
  void compute(const Call& call) const override {
    if (is_plain()) return mean_squared_error(call.exec, call.arrays);
    weighted_squared_error(call.exec, points(call.constants), call.arrays);
  }
};

}  // namespace

std::unique_ptr<LossHead> losses::Mse::make(const ModelOptions& model, const LossInput& input) const {
  return std::make_unique<SquaredErrorLoss>(model, input);
}

}  // namespace mylos
