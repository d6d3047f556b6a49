// ParameterLayout: where every parameter lies in the flat arenas of masters, compute weights and gradients.
//
// Parameters lie in backward order (the last block first), so that the gradients of a finished block
// are one contiguous stretch that can be reduced while the backward pass goes on. Stretches are gathered into
// buckets; each is padded so that it falls into one equal slice per rank. Masters, moments and gradients
// share their element offsets; padding stays zero.
//
// Every block reads compute weights. Where they are float and a rank holds all masters, they are the masters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/model/chain.hpp"

namespace mylos {

struct ParameterSlot {
  std::string layer;  // "hidden1"
  ParameterSpec spec;
  std::size_t block = 0;    // stage of the chain; the head's is the number of blocks
  std::int64_t offset = 0;  // in elements, in masters, moments and gradients
  std::size_t bucket = 0;
  std::size_t gradient_offset = 0;            // in bytes, in the gradient arena
  std::optional<std::size_t> compute_offset;  // in bytes, in the arena of compute weights; none: the masters

  [[nodiscard]] std::int64_t size() const { return spec.size(); }
  /// "hidden1/weight": the path under /model in a checkpoint.
  [[nodiscard]] std::string path() const { return layer + "/" + spec.name; }
};

struct GradientBucket {
  std::int64_t first = 0;  // element offset
  std::int64_t count = 0;  // a multiple of `world`
  DType type = DType::fp32;
  std::size_t gradient_offset = 0;  // bytes
  std::size_t last_block = 0;       // complete when the backward pass of this block is done
};

/// The slot of a block that the head reads too.
struct BorrowedSlot {
  std::size_t slot = 0;
  std::string name;                           // by which the head knows it
  std::optional<std::size_t> compute_offset;  // of the weights in the head's type
};

struct ParameterLayout {
  std::vector<ParameterSlot> slots;                      // in memory order
  std::vector<GradientBucket> buckets;                   // in memory order
  std::vector<std::vector<std::size_t>> slots_of_block;  // of each stage, in the order of its parameters()
  std::optional<BorrowedSlot> borrowed_by_head;
  std::int64_t elements = 0;      // with padding
  std::size_t compute_bytes = 0;  // of the arena of compute weights
  std::size_t gradient_bytes = 0;

  [[nodiscard]] std::size_t master_bytes() const {
    return static_cast<std::size_t>(elements) * sizeof(float);
  }
};

/// A bucket is closed once it holds `bucket_bytes` of gradients, or where the gradients' type changes.
[[nodiscard]] ParameterLayout make_parameter_layout(const Chain& chain, std::int64_t bucket_bytes, int world);

}  // namespace mylos
