// TokenLoader: the micro-batches of token windows of this rank, made in the background before the step needs
// them.
//
// Tokens are stored in memory in their stored type, or each window is read from the file when it is needed.
// Both give the same batches. In the steady state nothing is allocated.
#pragma once

#include <cstdint>
#include <memory>

#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/data/tokens/token_sampler.hpp"

namespace mylos {

struct TokenLoaderOptions {
  std::int64_t micro_batch = 0;  // maximum windows per batch; 0 = the rank's complete local batch
  int rank = 0;
  int ranks = 1;
  std::int64_t first_position = 0;  // windows already consumed; a multiple of the sampler's batch
  bool in_memory = true;            // otherwise windows are read one by one
};

class TokenLoader final : public BatchReader {
 public:
  /// Loads the tokens of `split`; the sampler's token 0 is the first of them. Throws Error (bad_input) if
  /// there are more ranks than windows in a batch.
  TokenLoader(const TokenDataset& dataset, Split split, const TokenSampler& sampler,
              const TokenLoaderOptions& options);
  ~TokenLoader() override;

  /// Returns batches with inputs [samples * context] of int32 and labels, the token after each of them.
  /// Throws Error (bad_input) with file and position for a token outside the vocabulary.
  [[nodiscard]] const Batch& next() override;
  void keep_until_read(const Execution& copies) override;
  void seek(std::int64_t position) override;

  /// Returns the host memory of such a loader in bytes.
  [[nodiscard]] static std::int64_t memory_bytes(const TokenDataset& dataset, Split split,
                                                 const TokenSampler& sampler,
                                                 const TokenLoaderOptions& options);

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

}  // namespace mylos
