// SampleExchange: a block whose passes exchange data with the other ranks of its samples (SampleRanks).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mylos {

class SampleExchange {
 public:
  virtual ~SampleExchange() = default;

  /// Returns the bytes that the largest exchange of a pass of `rows` rows sends and receives; 0: the block
  /// has whole samples, or needs nothing of the others.
  [[nodiscard]] virtual std::size_t exchanged_bytes(std::int64_t rows) const = 0;
};

}  // namespace mylos
