// TokenBuffer: the host memory of one batch of windows, and the check and conversion of stored tokens into
// it.
#pragma once

#include <cstdint>

#include "mylos/data/feed/batch.hpp"
#include "mylos/data/files/host_array.hpp"
#include "mylos/data/tokens/token_dataset.hpp"

namespace mylos {

class TokenBuffer {
 public:
  TokenBuffer(std::int64_t context, std::int64_t capacity);

  /// Writes the context + 1 tokens at `stored` to window `row`; `first` is the index of the first one in the
  /// file. Throws Error (bad_input) that names file and position if a token is outside the vocabulary.
  void put(std::int64_t row, const std::byte* stored, std::int64_t first, const TokenDataset& dataset);
  [[nodiscard]] Batch batch(std::int64_t samples, std::int64_t first_sample, std::int64_t step) const;

  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t context, std::int64_t capacity);

 private:
  std::int64_t context_;
  HostArray<std::int32_t> inputs_;
  HostArray<std::int32_t> labels_;
};

}  // namespace mylos
