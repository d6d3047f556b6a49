// Classifier: logits x·Wᵀ over a vocabulary, their cross-entropy, and both gradients, in chunks of rows, so
// that the logits of all rows are never stored.
//
//   loss = sum over rows of -log softmax(x·Wᵀ)[label],   dx = d_logits·W,   dW = d_logitsᵀ·x
//
// W is [classes, width]: a separate parameter "weight", or the token embedding (tied weights: Press, Wolf,
// arXiv 1608.05859). Its gradient is float, because chunks, and the embedding if tied, add to it. Padding
// classes, which round a vocabulary up, get no probability if the targets state the number of classes, as in
// evaluation. Training does not state it: there the padding counts as classes that never occur in the data.
#pragma once

#include "mylos/base/memory_is_host.hpp"
#include "mylos/model/block/loss_head.hpp"

namespace mylos {

struct ClassifierOptions {
  std::string name = "head";
  std::int64_t width = 0;
  std::int64_t classes = 0;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast chunk by chunk
  DType type = DType::fp32;        // of weights and logits
  std::optional<BorrowedParameter> tied;
  float initial_std = 0.02f;
  // Of the logits of a chunk, which has at least 256 rows. On hosts a chunk's logits then stay near the
  // caches; on devices larger chunks need fewer launches.
  std::size_t chunk_bytes = std::size_t{memory_is_host ? 32u : 1024u} << 20;
};

class Classifier final : public LossHead {
 public:
  explicit Classifier(ClassifierOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] const LossTraits& loss() const override { return losses::CrossEntropy::traits; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] std::optional<BorrowedParameter> borrows() const override { return options_.tied; }
  [[nodiscard]] LossCost cost(const Engines& engines, std::int64_t rows) const override;
  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const override;

  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override;
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override;
  [[nodiscard]] ConstTensor outputs_of(const StepContext& context, const LossMemory& memory) const override;

  /// Returns the rows of a chunk; only the last chunk may have fewer.
  [[nodiscard]] std::int64_t chunk_rows(std::int64_t rows) const;

 private:
  [[nodiscard]] std::int64_t max_chunk_rows() const;

  ClassifierOptions options_;
  Signature signature_;
};

}  // namespace mylos
