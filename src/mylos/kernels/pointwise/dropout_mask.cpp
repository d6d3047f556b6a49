#include "mylos/kernels/pointwise/dropout_mask.hpp"

namespace mylos {

void DropoutMask::factors_on_host(std::int64_t row, std::int64_t first, std::int64_t count,
                                  float* factor) const {
  const DropoutMask mask = *this;
  const std::uint64_t step = *step_;
  simd_for(0, (count + 3) / 4,
           [=](std::int64_t block) { mask.block_factors(step, row, first / 4 + block, factor + 4 * block); });
}

void DropoutMask::transposed_factors(std::int64_t first_row, std::int64_t rows, std::int64_t first,
                                     float* factor, std::int64_t stride) const {
  const DropoutMask mask = *this;
  const std::uint64_t step = *step_;
  simd_for(0, rows, [=](std::int64_t row) {
    float of_block[4];
    mask.block_factors(step, first_row + row, first / 4, of_block);
    for (std::int64_t i = 0; i < 4; ++i) factor[i * stride + row] = of_block[i];
  });
}

}  // namespace mylos
