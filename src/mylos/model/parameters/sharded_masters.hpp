// Sharded masters: the offsets of a rank's slices in a layout, and those of the compute weights of all ranks.
#pragma once

#include "mylos/base/alignment.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// Takes memory for weights at the end of their arena; returns its offset in bytes.
inline std::size_t take_offset(std::size_t& end, std::int64_t elements, DType type) {
  const std::size_t begin = end;
  end += aligned_bytes(static_cast<std::size_t>(elements) * size_of(type));
  return begin;
}

/// Reassigns the offsets of masters and compute weights; buckets and gradients stay.
void shard_masters(ParameterLayout& layout, int shard_owners);

}  // namespace mylos
