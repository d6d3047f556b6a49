// ChainCost: bytes and milliseconds of a chain's blocks, computed from shapes alone. Execution schedules and
// memory offsets are planned from these.
//
// An operation takes the longer of two times: its arithmetic at the rate of GEMMs in the block's compute
// type, and its memory traffic at the bandwidth (the roofline of Williams, Waterman, Patterson, CACM 52(4),
// 2009). Measured times can replace these.
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

/// A choice of the tensors that a block saves for backward. All byte counts here are multiples of
/// arena_alignment; all times are in milliseconds.
struct VariantCost {
  std::string name;
  std::size_t saved_bytes = 0;         // saved by forward for backward, without input and output
  std::size_t backward_workspace = 0;  // includes what is recomputed
  double recompute_time = 0;           // time of backward beyond that of variant 0

  bool operator==(const VariantCost&) const = default;
};

struct StageCost {
  std::size_t output_bytes = 0;  // the boundary activation that the next block reads
  std::size_t forward_workspace = 0;
  std::vector<VariantCost> variants;  // at least one; [0] saves all
  double forward_time = 0;
  double backward_time = 0;
  std::size_t skip = no_skip;  // the boundary that the block reads besides its input

  bool operator==(const StageCost&) const = default;
};

struct ChainCost {
  std::size_t input_bytes = 0;  // of x_0; 0 if it lies outside the arena
  std::vector<StageCost> blocks;
  std::size_t loss_workspace = 0;
  double loss_time = 0;
  double update_time = 0;  // of a step, apart from its micro-batches
  bool measured = false;  // whether the times are measured; otherwise they follow from a model of the machine

  /// Returns the bytes of x_boundary alone; its gradient has the same size.
  [[nodiscard]] std::size_t boundary_bytes(std::size_t boundary) const {
    return boundary == 0 ? input_bytes : blocks[boundary - 1].output_bytes;
  }
  [[nodiscard]] Skips skips() const;

  bool operator==(const ChainCost&) const = default;
};

/// Returns the host memory of the code that a library generates for the chain's convolutions, for
/// micro-batches of each of these numbers of samples. Equal convolutions share their code.
[[nodiscard]] std::size_t convolution_code_bytes(const Chain& chain, const Engines& engines,
                                                 std::span<const std::int64_t> samples);

/// Returns the cost for micro-batches of `rows` rows; the input lies outside the arena.
[[nodiscard]] ChainCost chain_cost(const Chain& chain, const Engines& engines, std::int64_t rows,
                                   const MachineRates& rates = {});

}  // namespace mylos
