// ChainCost: what the blocks of a chain cost in bytes and milliseconds, from the shapes alone: all that lists
// of operations are planned and placed from.
//
// An operation takes the longer of its arithmetic at the rate of products in the block's compute type and its
// memory traffic at the bandwidth (the roofline of Williams, Waterman, Patterson, CACM 52(4), 2009). Measured
// times may be put in the place of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mylos/kernels/rates/machine_rates.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/chain/skips.hpp"

namespace mylos {

/// One way in which a block keeps what its backward pass reads. All byte counts here are multiples of
/// arena_alignment, all times in milliseconds.
struct VariantCost {
  std::string name;
  std::size_t saved_bytes = 0;         // kept from forward to backward besides input and output
  std::size_t backward_workspace = 0;  // includes what is recomputed
  double recompute_time = 0;           // what backward takes longer than with variant 0

  bool operator==(const VariantCost&) const = default;
};

struct StageCost {
  std::size_t output_bytes = 0;  // the boundary activation that the next block reads
  std::size_t forward_workspace = 0;
  std::vector<VariantCost> variants;  // at least one; [0] keeps all
  double forward_time = 0;
  double backward_time = 0;
  std::size_t skip = no_skip;  // the boundary that the block reads besides its input

  bool operator==(const StageCost&) const = default;
};

struct ChainCost {
  std::size_t input_bytes = 0;  // of x_0; 0 where it lies outside the arena
  std::vector<StageCost> blocks;
  std::size_t loss_workspace = 0;
  double loss_time = 0;
  double update_time = 0;  // of a step besides its micro-batches
  bool measured = false;   // the times; else they come from a model of the machine

  /// Of x_boundary alone, and of its gradient.
  [[nodiscard]] std::size_t boundary_bytes(std::size_t boundary) const {
    return boundary == 0 ? input_bytes : blocks[boundary - 1].output_bytes;
  }
  [[nodiscard]] Skips skips() const;

  bool operator==(const ChainCost&) const = default;
};

/// Host memory of the code that a library generates for the chain's convolutions, of which equal ones share
/// it, in micro-batches of each of these numbers of samples.
[[nodiscard]] std::size_t convolution_code_bytes(const Chain& chain, const GemmEngine& gemm,
                                                 std::span<const std::int64_t> samples);

/// For micro-batches of `rows` rows; the input lies outside the arena.
[[nodiscard]] ChainCost chain_cost(const Chain& chain, const GemmEngine& gemm, std::int64_t rows,
                                   const MachineRates& rates = {});

}  // namespace mylos
