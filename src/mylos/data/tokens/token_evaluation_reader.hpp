// TokenEvaluationReader: one pass over all windows that lie one behind the other in a part of a token file.
#pragma once

#include <memory>

#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/tokens/token_dataset.hpp"

namespace mylos {

class TokenEvaluationReader final : public EvaluationPass {
 public:
  /// Throws Error (bad_input) when the split holds no window of `context` tokens.
  TokenEvaluationReader(const TokenDataset& dataset, Split split, std::int64_t context,
                        const EvaluationOptions& options);
  ~TokenEvaluationReader() override;

  /// In windows.
  [[nodiscard]] Share share() const override;
  [[nodiscard]] const Batch* next() override;
  void rewind() override;

  /// Host memory that such a reader takes.
  [[nodiscard]] static std::int64_t memory_bytes(const TokenDataset& dataset, Split split,
                                                 std::int64_t context, const EvaluationOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
