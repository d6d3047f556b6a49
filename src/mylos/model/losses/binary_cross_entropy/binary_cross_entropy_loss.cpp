// binary_cross_entropy: of the sigmoid of each logit and a probability.
#include "mylos/model/losses/loss_kinds.hpp"

namespace mylos {
namespace {

class BinaryCrossEntropyLoss final : public OutputLoss {
 public:
  explicit BinaryCrossEntropyLoss(const LossInput& input)
      : OutputLoss(LossType::binary_cross_entropy, input) {}

 private:
  void compute(const Call& call) const override { mean_binary_cross_entropy(call.exec, call.arrays); }
};

}  // namespace

std::unique_ptr<LossHead> make_binary_cross_entropy(const ModelOptions& /*model*/, const LossInput& input) {
  return std::make_unique<BinaryCrossEntropyLoss>(input);
}

}  // namespace mylos
