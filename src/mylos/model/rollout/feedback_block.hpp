// FeedbackBlock: joins two copies of a chain. It makes the input of the next copy of the output of the last
// one, of that one's input (earlier levels, and the state if the output is a difference), and of the sample's
// row (forcing, constants):
//
//   next[c] = previous[p(c)] + scale(c) · output[o(c)] + offset(c) + rows[r(c)]
//
// with the terms that FeedbackMap sets, and 0 for the numbers that it leaves out. The previous input is the
// block's skip. Backward also computes the loss of the output, once per micro-batch however often forward
// runs:
//
//   d_output = weight · d loss / d output + scale · d_next,   d_previous = d_next of its readers
//
// Nothing is saved besides input and skip; the workspace holds the targets of the copy's step.
#pragma once

#include "mylos/model/block.hpp"
#include "mylos/model/rollout/copy_loss.hpp"
#include "mylos/model/rollout/feedback_kernels.hpp"

namespace mylos {

struct FeedbackOptions {
  FeedbackMap map;
  std::int64_t copy = 0;            // the one whose output is read, from 0
  DType output_type = DType::fp32;  // of the network's output
  DType input_type = DType::fp32;   // of its input
};

/// Returns whether the next input depends on the previous one.
[[nodiscard]] bool reads_previous(const FeedbackMap& map);
[[nodiscard]] FeedbackShape shape_of(const FeedbackMap& map);

class FeedbackBlock final : public Block {
 public:
  FeedbackBlock(const FeedbackOptions& options, CopyLoss loss);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  std::int64_t copy_;
  FeedbackShape shape_;
  CopyLoss loss_;
  Signature signature_;
};

}  // namespace mylos
