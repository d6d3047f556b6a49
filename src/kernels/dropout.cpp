#include "mylos/kernels/dropout.hpp"

namespace mylos {

void DropoutMask::factors_on_host(std::int64_t row, std::int64_t first, std::int64_t count,
                                  float* factor) const {
  const DropoutMask mask = *this;
  const std::uint64_t step = *step_;
  simd_for(0, (count + 3) / 4,
           [=](std::int64_t block) { mask.block_factors(step, row, first / 4 + block, factor + 4 * block); });
}

}  // namespace mylos
