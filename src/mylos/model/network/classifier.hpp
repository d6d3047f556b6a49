// Classifier: logits x·Wᵀ over a vocabulary, their cross-entropy, and both gradients, in chunks of rows, so
// that the logits of all rows are never stored.
//
//   loss = sum over rows of -log softmax(x·Wᵀ)[label],   dx = d_logits·W,   dW = d_logitsᵀ·x
//
// W is [classes, width]: a parameter "weight" of its own, or the token embedding (tied weights: Press, Wolf,
// arXiv 1608.05859). Its gradient is float, because chunks, and the embedding where tied, add to it. Classes
// that pad a vocabulary to a round number get no probability where the truth says how many there are, as in
// evaluation; training does not say so, and takes them for classes that the data never name.
#pragma once

#include "mylos/model/block/loss_head.hpp"

namespace mylos {

struct ClassifierOptions {
  std::string name = "head";
  std::int64_t width = 0;
  std::int64_t classes = 0;
  DType input_type = DType::fp32;  // another type than `type` is cast chunk by chunk
  DType type = DType::fp32;        // of weights and logits
  std::optional<BorrowedParameter> tied;
  float initial_std = 0.02f;
  // Of logits at a time, but at least 256 rows. What hosts compute at once stays near their caches; each
  // launch on a device has a price.
  std::size_t chunk_bytes = std::size_t{memory_is_host ? 32u : 1024u} << 20;
};

class Classifier final : public LossHead {
 public:
  explicit Classifier(ClassifierOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] LossType loss() const override { return LossType::cross_entropy; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] std::optional<BorrowedParameter> borrows() const override { return options_.tied; }
  [[nodiscard]] LossCost cost(const GemmEngine& gemm, std::int64_t rows) const override;
  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const override;

  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override;
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override;
  [[nodiscard]] Tensor outputs_of(const StepContext& context, const LossMemory& memory) const override;

  /// Rows of a chunk: all chunks but the last have as many.
  [[nodiscard]] std::int64_t chunk_rows(std::int64_t rows) const;

 private:
  [[nodiscard]] std::int64_t max_chunk_rows() const;

  ClassifierOptions options_;
  Signature signature_;
};

}  // namespace mylos
