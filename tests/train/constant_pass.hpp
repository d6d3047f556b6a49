// A pass over batches of one value, which reads no data.
#pragma once

#include <vector>

#include "mylos/data/feed/evaluation_pass.hpp"
#include "train/synthetic.hpp"

namespace mylos::testing_support {

/// Two batches of `samples` samples, of class 0.
class ConstantPass final : public EvaluationPass {
 public:
  /// Another value than 0: of floats alone.
  ConstantPass(std::int64_t samples, DType type, float value = 0)
      : inputs_(static_cast<std::size_t>(samples * features), value),
        labels_(static_cast<std::size_t>(samples)) {
    batch_.samples = batch_.rows = samples;
    batch_.type = type;
    batch_.inputs = inputs_.data();
    batch_.labels = labels_.data();
  }
  [[nodiscard]] Share share() const override { return {0, 2 * batch_.samples}; }
  [[nodiscard]] const Batch* next() override { return left_-- > 0 ? &batch_ : nullptr; }
  void rewind() override { left_ = 2; }

 private:
  std::vector<float> inputs_;  // enough of any type
  std::vector<std::int32_t> labels_;
  Batch batch_;
  int left_ = 2;
};

}  // namespace mylos::testing_support
