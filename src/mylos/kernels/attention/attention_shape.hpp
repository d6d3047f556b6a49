// The sizes of an attention layer, also for code that does not include Kokkos.
#pragma once

#include <cstdint>

#include "mylos/base/dtype.hpp"

namespace mylos {

struct AttentionShape {
  std::int64_t samples = 0;
  std::int64_t length = 0;  // tokens of a sample
  std::int64_t heads = 0;
  std::int64_t head_width = 0;
  DType type = DType::fp32;
  bool drops = false;  // whether probabilities are dropped, in training
  bool causal = true;  // a token sees itself and earlier ones; false: all tokens of its sample

  [[nodiscard]] std::int64_t rows() const { return samples * length; }
  [[nodiscard]] std::int64_t width() const { return heads * head_width; }
  /// Returns the number of tokens that the token at a position sees: the first ones of its sample.
  [[nodiscard]] std::int64_t seen(std::int64_t position) const { return causal ? position + 1 : length; }

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

}  // namespace mylos
