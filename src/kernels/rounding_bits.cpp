#include "mylos/kernels/rounding_bits.hpp"

namespace mylos {

void RoundingBits::of_tile_on_host(std::int64_t first, std::int64_t count, std::uint16_t* bits) const {
  const RoundingBits own = *this;
  const std::int64_t first_block = first / elements_of_block;
  simd_for(0, launch::ceiling_quotient(count, elements_of_block), [=](std::int64_t index) {
    const RandomBlock random = own.block(first_block + index);
    std::uint16_t* const of_block = bits + elements_of_block * index;
    for (int i = 0; i < 4; ++i) {
      of_block[i] = static_cast<std::uint16_t>(random.word[i]);
      of_block[i + 4] = static_cast<std::uint16_t>(random.word[i] >> 16);
    }
  });
}

}  // namespace mylos
