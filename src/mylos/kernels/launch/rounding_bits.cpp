#include "mylos/kernels/launch/rounding_bits.hpp"

namespace mylos {

void RoundingBits::of_tile_on_host(std::int64_t first, std::int64_t count, std::uint16_t* bits) const {
  const RoundingBits generator = *this;
  const std::int64_t first_block = first / elements_of_block;
  simd_for(0, launch::ceiling_quotient(count, elements_of_block), [=](std::int64_t index) {
    of_block(generator.block(first_block + index), bits + elements_of_block * index);
  });
}

}  // namespace mylos
