// Masters cut over ranks: where in a layout the slices lie that a rank holds of them, and the compute weights
// of all.
#pragma once

#include "mylos/base/device/arena.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// Room for weights at the end of their arena; where they begin, in bytes.
inline std::size_t take_place(std::size_t& end, std::int64_t elements, DType type) {
  const std::size_t begin = end;
  end += aligned_bytes(static_cast<std::size_t>(elements) * size_of(type));
  return begin;
}

/// Places masters and compute weights anew; buckets and gradients stay where they are.
void shard_masters(ParameterLayout& layout, int shard_owners);

}  // namespace mylos
