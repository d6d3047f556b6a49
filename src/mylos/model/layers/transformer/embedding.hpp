// Embedding: x = dropout(token[t] + position[i]) for token t at position i of its sample; the first block of
// a GPT. Tokens are int32 [rows, 1]. Without learned positions x is the token's row.
//
// Nothing is saved for backward.
#pragma once

#include "mylos/base/numbers/random.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct EmbeddingOptions {
  std::string name = "embedding";
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t context = 0;  // tokens per sample
  bool positions = true;     // a learned row for each position
  bool tied = false;         // the head writes its part of the token gradient before backward
  double dropout = 0;
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
  float initial_std = 0.02f;
  std::uint64_t seed = 0;
};

class Embedding final : public Block {
 public:
  explicit Embedding(EmbeddingOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  EmbeddingOptions options_;
  Signature signature_;
  RandomStream dropout_stream_;
};

}  // namespace mylos
