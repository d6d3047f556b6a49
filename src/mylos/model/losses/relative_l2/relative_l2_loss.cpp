// relative_l2: the norm of a sample's error divided by that of its targets.
#include "mylos/model/losses/field_loss.hpp"

namespace mylos {
namespace {

class RelativeL2Loss final : public FieldLoss {
 public:
  using FieldLoss::FieldLoss;

 private:
  void compute(const Call& call) const override {
    if (is_plain()) return relative_l2_error(call.exec, call.arrays);
    relative_l2_of_field(call.exec, points(call.constants), norm() && norm()->per_channel(), call.arrays);
  }
};

}  // namespace

std::unique_ptr<LossHead> losses::RelativeL2::make(const ModelOptions& model, const LossInput& input) const {
  return std::make_unique<RelativeL2Loss>(model, input);
}

}  // namespace mylos
