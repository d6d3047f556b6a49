// cross_entropy: of the softmax of logits and a class, with label smoothing and a weight for each class.
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/losses/output_loss.hpp"

namespace mylos {
namespace {

class CrossEntropyLoss final : public OutputLoss {
 public:
  CrossEntropyLoss(const losses::CrossEntropy& options, const LossInput& input)
      : OutputLoss(losses::CrossEntropy::traits, input),
        label_smoothing_(static_cast<float>(options.label_smoothing)),
        class_weights_(options.class_weights.begin(), options.class_weights.end()) {
    const auto classes = static_cast<std::size_t>(signature().outputs);
    if (class_weights_.empty() || class_weights_.size() == classes) return;
    fail_input(errors::bad_value, "model.class_weights has {} weights, but there are {} classes",
               class_weights_.size(), classes);
  }

  [[nodiscard]] std::span<const float> constants() const override { return class_weights_; }

 private:
  void compute(const Call& call) const override {
    const LossArrays& arrays = call.arrays;
    softmax_cross_entropy(call.exec, arrays.predictions, call.truth.labels, arrays.d_predictions,
                          arrays.loss_scale, arrays.inverse_count, arrays.row_loss, call.row_correct,
                          call.truth.classes,
                          {.smoothing = label_smoothing_, .class_weights = call.constants});
  }

  float label_smoothing_;
  std::vector<float> class_weights_;
};

}  // namespace

std::unique_ptr<LossHead> losses::CrossEntropy::make(const ModelOptions& /*model*/,
                                                     const LossInput& input) const {
  return std::make_unique<CrossEntropyLoss>(*this, input);
}

}  // namespace mylos
