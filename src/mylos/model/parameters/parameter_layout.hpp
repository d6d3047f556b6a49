// ParameterLayout: where every parameter lies in the flat arenas of masters, compute weights and gradients.
//
// Parameters lie in backward order (the last block first), so that the gradients of a finished block
// are one contiguous stretch that can be reduced while the backward pass goes on. Stretches are gathered into
// buckets; each is padded so that it falls into one equal slice per rank. Masters, moments and gradients
// share their element offsets; padding stays zero.
//
// Every block reads compute weights. Where they are float and a rank holds all masters, they are the masters.
//
// Without masters (precision.masters = "none") all weights lie in the arena of compute weights, each in the
// type of its layer, and the updates move them there. Of a parameter that the head reads in float, and its
// own layer in 16 bits, they move the floats.
//
// Masters that are cut over ranks: a rank holds a slice of every bucket's, slice behind slice. The compute
// weights of a bucket then lie as its gradients do, so that its slices can be gathered in one piece; where
// they are float, this rank's slice of them are its masters. A bucket whose compute weights have several
// types has float gradients: it is gathered as floats in the memory of these, and rounded from there.
//
// Gradients that are cut over ranks: a bucket has memory from its first block's backward pass until it is
// reduced; later buckets take that memory over. What a rank keeps is its slice of every bucket's sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct ParameterSlot {
  std::string layer;  // "hidden1"
  ParameterSpec spec;
  std::size_t block = 0;    // stage of the chain; the head's is the number of blocks
  std::int64_t offset = 0;  // in elements, in gradients, and in masters and moments that are not cut
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
  std::size_t slice_offset = 0;     // bytes, in the arena of slices, of this rank's; where gradients are cut
  std::size_t first_block = 0;      // the first whose parameters it has
  std::size_t last_block = 0;       // complete when the backward pass of this block is done
  // In elements, in the arena of masters, of the slice that a rank holds; none: it lies in the compute
  // weights.
  std::optional<std::int64_t> held_first;
  // Where masters are cut over ranks.
  std::optional<DType> compute_type;  // of all its compute weights; none: they have several
  std::size_t compute_offset = 0;     // bytes, of the first; where they have one type
};

/// The slot of a block that the head reads too.
struct BorrowedSlot {
  std::size_t slot = 0;
  std::string name;                           // by which the head knows it
  DType type = DType::fp32;                   // the head's
  std::optional<std::size_t> compute_offset;  // of the weights in that type; none: the masters
};

struct ParameterLayout {
  std::vector<ParameterSlot> slots;                      // in memory order
  std::vector<GradientBucket> buckets;                   // in memory order
  std::vector<std::vector<std::size_t>> slots_of_block;  // of each stage, in the order of its parameters()
  std::optional<BorrowedSlot> borrowed_by_head;
  bool keeps_masters = true;
  std::int64_t bucket_bytes = 0;  // of gradients, at which a bucket is closed
  int shard_owners = 1;  // ranks over which masters and moments are cut: those for whom the layout is, or 1
  std::int64_t elements = 0;      // with padding
  std::int64_t held_masters = 0;  // elements of the arena of masters
  std::size_t compute_bytes = 0;  // of the arena of compute weights
  std::size_t gradient_bytes = 0;
  std::size_t slice_bytes = 0;  // of the arena of slices of gradients; 0: they lie among the gradients

  /// Whether buckets share the memory of gradients.
  [[nodiscard]] bool cuts_gradients() const { return slice_bytes > 0; }
  /// In which updates move a parameter: float, or without masters the widest type in which it is read.
  [[nodiscard]] DType moved_type(const ParameterSlot& slot) const;
  [[nodiscard]] std::size_t master_bytes() const {
    return static_cast<std::size_t>(held_masters) * sizeof(float);
  }
  /// Masters, compute weights and gradients.
  [[nodiscard]] std::size_t bytes() const {
    return master_bytes() + compute_bytes + gradient_bytes + slice_bytes;
  }
};

/// A bucket is closed once it holds `bucket_bytes` of gradients, or where the gradients' type changes. 0: a
/// 32nd of the bytes of all gradients, at least 1 MiB and at most 25 MiB. `shard_owners`: `world` to cut
/// masters and moments over the ranks, or 1. `window`: where masters are cut, how many buckets one after the
/// other have all their gradients at a time, to cut these too where that takes less memory; 0: all. Buckets
/// are the same.
[[nodiscard]] ParameterLayout make_parameter_layout(const Chain& chain, std::int64_t bucket_bytes, int world,
                                                    int shard_owners = 1, std::size_t window = 0);

}  // namespace mylos
