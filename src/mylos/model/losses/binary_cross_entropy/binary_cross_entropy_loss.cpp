// binary_cross_entropy: of the sigmoid of each logit and a probability.
#include "mylos/model/losses/output_loss.hpp"

namespace mylos {
namespace {

class BinaryCrossEntropyLoss final : public OutputLoss {
 public:
  explicit BinaryCrossEntropyLoss(const LossInput& input)
      : OutputLoss(losses::BinaryCrossEntropy::traits, input) {}

 private:
  void compute(const Call& call) const override { mean_binary_cross_entropy(call.exec, call.arrays); }
};

}  // namespace

std::unique_ptr<LossHead> losses::BinaryCrossEntropy::make(const ModelOptions& /*model*/,
                                                           const LossInput& input) const {
  return std::make_unique<BinaryCrossEntropyLoss>(input);
}

}  // namespace mylos
