// TokenLoader: the micro-batches of windows of tokens of this rank, made in the background ahead of the step.
//
// Tokens stay in memory in their stored type where they take no more than half of what is available to the
// rank; else each window is read from the file when its turn comes. Both give the same batches. Steady state
// allocates nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/data/tokens/token_sampler.hpp"

namespace mylos {

struct TokenLoaderOptions {
  std::int64_t micro_batch = 0;  // most windows of a batch; 0 = the rank's whole share
  int rank = 0;
  int ranks = 1;
  std::int64_t first_position = 0;  // windows consumed before; a multiple of the sampler's batch
  bool in_memory = true;            // else windows are read one by one
};

/// Whether the tokens of `split` take no more than half of the memory that is available to each of
/// `ranks_on_node` ranks and, where a rank has a budget (bytes; 0: none), an eighth of that.
[[nodiscard]] bool fit_in_memory(const TokenDataset& dataset, Split split, int ranks_on_node,
                                 std::int64_t budget);

class TokenLoader final : public BatchReader {
 public:
  /// The tokens of `split`, which the sampler's tokens count from its first. Throws Error (bad_input) when
  /// ranks exceed the batch.
  TokenLoader(const TokenDataset& dataset, Split split, const TokenSampler& sampler,
              const TokenLoaderOptions& options);
  ~TokenLoader() override;

  /// Batches with inputs [samples * context] of int32 and labels, the tokens behind each of them. Throws
  /// Error (bad_input) with file and position for a token outside the vocabulary.
  [[nodiscard]] const Batch& next() override;
  void keep_until_read(const Execution& copies) override;
  void seek(std::int64_t position) override;

  /// Host memory that such a loader takes.
  [[nodiscard]] static std::int64_t memory_bytes(const TokenDataset& dataset, Split split,
                                                 const TokenSampler& sampler,
                                                 const TokenLoaderOptions& options);

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

}  // namespace mylos
