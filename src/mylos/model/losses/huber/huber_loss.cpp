// huber: the mean of errors' squares up to model.huber_delta, and linear beyond.
#include "mylos/model/losses/field_loss.hpp"

namespace mylos {
namespace {

class HuberLoss final : public FieldLoss {
 public:
  HuberLoss(double delta, const ModelOptions& model, const LossInput& input)
      : FieldLoss(model, input), delta_(static_cast<float>(delta)) {}

 private:
  void compute(const Call& call) const override {
    if (is_plain()) return mean_huber_loss(call.exec, call.arrays, delta_);
    weighted_huber_loss(call.exec, points(call.constants), call.arrays, delta_);
  }

  float delta_;
};

}  // namespace

std::unique_ptr<LossHead> losses::Huber::make(const ModelOptions& model, const LossInput& input) const {
  return std::make_unique<HuberLoss>(delta, model, input);
}

}  // namespace mylos
