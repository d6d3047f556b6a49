// ParameterLayout: the offsets of every parameter in the flat arenas of masters, compute weights and
// gradients.
//
// Parameters lie in backward order (the last block first). The gradients of a finished block are therefore
// contiguous, and can be reduced while the backward pass continues. They are gathered into buckets. Each
// bucket is padded so that it divides into equal slices, one per rank. Masters, moments and gradients share
// their element offsets; padding stays zero.
//
// Every block reads compute weights. If these are float and the rank holds all masters, they are the masters.
//
// Without masters (precision.masters = "none") all weights lie in the arena of compute weights, each in the
// type of its layer, and the updates change them there. If the head reads a parameter in float, and the
// parameter's own layer reads it in 16 bits, the updates change the float copy.
//
// Sharded masters: a rank holds one slice of every bucket's masters; its slices are contiguous. The compute
// weights of a bucket then have the order of its gradients, so that one collective gathers their slices. If
// they are float, this rank's slice of them are its masters. A bucket whose compute weights have several
// types has float gradients: its weights are gathered as floats in the memory of the gradients, and rounded
// from there.
//
// Sharded gradients: a bucket has memory from its first block's backward pass until it is reduced; later
// buckets reuse that memory. The rank stores its slice of every bucket's sums.
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
  std::size_t block = 0;    // stage of the chain; for the head the number of blocks
  std::int64_t offset = 0;  // in elements, in gradients, and in unsharded masters and moments
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
  std::size_t slice_offset = 0;  // bytes, of this rank's slice in the arena of slices; sharded gradients only
  std::size_t first_block = 0;   // the first block with parameters in this bucket
  std::size_t last_block = 0;    // the bucket is complete after this block's backward pass
  // Offset in elements, in the arena of masters, of the slice that the rank holds; none: the slice lies in
  // the compute weights.
  std::optional<std::int64_t> held_first;
  // For sharded masters.
  std::optional<DType> compute_type;  // of all its compute weights; none: they have several types
  std::size_t compute_offset = 0;     // bytes, of the first one; if they have one type
};

/// The slot of a block's parameter that the head reads too.
struct BorrowedSlot {
  std::size_t slot = 0;
  std::string name;                           // the head's name for it
  DType type = DType::fp32;                   // the head's
  std::optional<std::size_t> compute_offset;  // of the weights in the head's type; none: the masters
};

struct ParameterLayout {
  std::vector<ParameterSlot> slots;                      // in memory order
  std::vector<GradientBucket> buckets;                   // in memory order
  std::vector<std::vector<std::size_t>> slots_of_block;  // of each stage, in the order of its parameters()
  std::optional<BorrowedSlot> borrowed_by_head;
  bool keeps_masters = true;
  std::int64_t bucket_bytes = 0;  // of gradients; a bucket of this size is closed
  int shard_owners = 1;           // ranks that share masters and moments: the layout's ranks, or 1
  std::int64_t elements = 0;      // with padding
  std::int64_t held_masters = 0;  // elements of the arena of masters
  std::size_t compute_bytes = 0;  // of the arena of compute weights
  std::size_t gradient_bytes = 0;
  std::size_t slice_bytes = 0;  // of the arena of gradient slices; 0: they lie in the gradient arena

  /// Returns whether gradients are sharded, so that buckets share memory.
  [[nodiscard]] bool cuts_gradients() const { return slice_bytes > 0; }
  /// Returns the type in which updates change a parameter: float, or without masters the widest type in which
  /// it is read.
  [[nodiscard]] DType moved_type(const ParameterSlot& slot) const;
  [[nodiscard]] std::size_t master_bytes() const {
    return static_cast<std::size_t>(held_masters) * sizeof(float);
  }
  /// Returns the bytes of masters, compute weights and gradients.
  [[nodiscard]] std::size_t bytes() const {
    return master_bytes() + compute_bytes + gradient_bytes + slice_bytes;
  }
};

/// Makes a layout. A bucket is closed when it holds `bucket_bytes` of gradients, or where the gradients' type
/// changes. `bucket_bytes` = 0: 1/32 of the bytes of all gradients, at least 1 MiB and at most 25 MiB.
/// `shard_owners`: `world` to shard masters and moments over the ranks, or 1. `window`: for sharded masters
/// the number of consecutive buckets whose gradients are in memory at a time; gradients are then sharded too
/// if that takes less memory; 0: all buckets. The buckets do not depend on `window`.
[[nodiscard]] ParameterLayout make_parameter_layout(const Chain& chain, std::int64_t bucket_bytes, int world,
                                                    int shard_owners = 1, std::size_t window = 0);

}  // namespace mylos
