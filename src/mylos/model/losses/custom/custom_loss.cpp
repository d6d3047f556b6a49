// custom: a loss of the host program.
#include "mylos/model/custom_loss.hpp"

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/losses/make_loss.hpp"

namespace mylos {
namespace {

class LossOfProgram final : public OutputLoss {
 public:
  LossOfProgram(std::shared_ptr<const CustomLoss> loss, const LossInput& input)
      : OutputLoss(losses::Custom::traits, input), loss_(std::move(loss)) {}

 private:
  void compute(const Call& call) const override {
    if (loss_ == nullptr) throw missing_custom_loss();
    loss_->compute(call.exec, call.arrays);
  }

  std::shared_ptr<const CustomLoss> loss_;  // null where only outputs are computed
};

}  // namespace

Error missing_custom_loss() {
  return {ExitCode::bad_input, errors::unknown_name,
          "model.loss is \"custom\", a loss of a program, which this one does not bring "
          "(docs/how-to/custom-layers.md)"};
}

std::unique_ptr<LossHead> losses::Custom::make(const ModelOptions& model, const LossInput& input) const {
  if (model.point_weights)
    fail_input(errors::keys_conflict,
               "{} weighs the points, but model.loss = \"custom\" computes with weights of its own",
               model.point_weights->source);
  if (model.has_missing_targets)
    fail_input(
        errors::keys_conflict,
        "targets may be missing (data.arrays.missing), and model.loss = \"custom\" counts all of them");
  return std::make_unique<LossOfProgram>(model.custom_loss, input);
}

}  // namespace mylos
