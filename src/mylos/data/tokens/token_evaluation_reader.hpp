// TokenEvaluationReader: one pass over all consecutive windows of a part of a token file.
#pragma once

#include <memory>

#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/tokens/token_dataset.hpp"

namespace mylos {

class TokenEvaluationReader final : public EvaluationPass {
 public:
  /// Throws Error (bad_input) if the split holds no window of `context` tokens.
  TokenEvaluationReader(const TokenDataset& dataset, Split split, std::int64_t context,
                        const EvaluationOptions& options);
  ~TokenEvaluationReader() override;

  /// Returns this rank's part, in windows.
  [[nodiscard]] Share share() const override;
  [[nodiscard]] const Batch* next() override;
  void rewind() override;

  /// Returns the host memory of such a reader in bytes.
  [[nodiscard]] static std::int64_t memory_bytes(const TokenDataset& dataset, Split split,
                                                 std::int64_t context, const EvaluationOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
