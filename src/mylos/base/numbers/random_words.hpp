// The words of a RandomStream: RandomStream::block() and word().
#pragma once

#include <Random123/philox.h>

#include <cstdint>

#include "mylos/base/kokkos_names.hpp"
#include "mylos/base/numbers/random.hpp"

namespace mylos {

KOKKOS_INLINE_FUNCTION RandomBlock RandomStream::block(std::uint64_t step, std::uint64_t sample,
                                                       std::uint32_t block) const {
  using Generator = r123::Philox4x32;
  typename Generator::ctr_type counter;
  counter[0] = block;
  counter[1] = static_cast<std::uint32_t>(sample);
  counter[2] = static_cast<std::uint32_t>(step);
  counter[3] = static_cast<std::uint32_t>((step >> 32) << 16 | (sample >> 32));
  typename Generator::key_type key;
  key[0] = static_cast<std::uint32_t>(key_);
  key[1] = static_cast<std::uint32_t>(key_ >> 32);
  const auto random = Generator()(counter, key);
  return {{random[0], random[1], random[2], random[3]}};
}

KOKKOS_INLINE_FUNCTION std::uint32_t RandomStream::word(std::uint64_t step, std::uint64_t sample,
                                                        std::uint64_t element) const {
  return block(step, sample, static_cast<std::uint32_t>(element / 4)).word[element % 4];
}

}  // namespace mylos
