// GradientReduction: sums the gradients of all ranks, bucket by bucket, during the backward pass.
//
// A bucket is reduced by a reduce-scatter over equal slices, each summed in float by the binary tree over
// ranks. Every rank receives its own slice of the sums, which suffices for the step's decision; WeightUpdate
// does the rest. By default half is exchanged as float, bfloat16 as bfloat16.
//
// At most buckets_in_flight buckets are reduced at a time: starting a bucket completes the reduction of the
// bucket started buckets_in_flight before it, whose slot of staging memory it reuses. If gradients are
// sharded too (ZeRO-2), it also reuses that bucket's memory: the sums are stored separately, and the backward
// pass waits for them before it writes there.
//
// If gradients or their wire type have 16 bits, the sum becomes the mean here, before its one rounding
// (BatchMean).
#pragma once

#include <array>
#include <vector>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/model/parameters/parameter_slices.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "mylos/optim/gradients/batch_mean.hpp"
#include "mylos/optim/options.hpp"

namespace mylos {

/// One bucket is exchanged while the gradients of the next are computed; the others let a rank run ahead of
/// the slowest rank without waiting.
inline constexpr std::size_t buckets_in_flight = 4;

/// Returns the `window` of make_parameter_layout() for these options.
[[nodiscard]] inline std::size_t gradient_window(const OptimizerOptions& options, int ranks) {
  return options.cuts_gradients(ranks) ? buckets_in_flight : 0;
}

/// Memory of a reduction over ranks in addition to the gradients. Buckets use the slots in rotation; a slot
/// has the size of its largest bucket.
struct ReductionMemory {
  std::vector<DType> wire_types;    // of each bucket
  std::vector<SlotBytes> slots;     // of the communicator
  std::vector<std::size_t> copied;  // bytes of each slot for buckets whose wire type differs from their type
  [[nodiscard]] std::size_t copied_bytes() const;
};

/// Returns the memory of a reduction. `statistics`: bytes of the statistics sums that ranks exchange in
/// statistics_slot(). `norms`: bytes that ranks exchange in the first slot while no bucket uses it. `sample`:
/// sample_slot(), if it has messages.
[[nodiscard]] ReductionMemory reduction_memory(const ParameterLayout& layout, ReduceType type, int ranks,
                                               std::size_t statistics = 0, std::size_t norms = 0,
                                               const SlotBytes& sample = {});

/// Returns the slot after those of the buckets.
[[nodiscard]] inline std::size_t statistics_slot(const ParameterLayout& layout) {
  return std::min(layout.buckets.size(), buckets_in_flight);
}
/// Returns the slot after these, for exchanges between ranks that share samples.
[[nodiscard]] inline std::size_t sample_slot(const ParameterLayout& layout, std::size_t statistics) {
  return statistics_slot(layout) + (statistics > 0 ? 1 : 0);
}

class GradientReduction {
 public:
  /// Returns the memory of a reduction and of the communicator, on any of `ranks` ranks. The other arguments
  /// are those of reduction_memory().
  [[nodiscard]] static PartMemory memory(const ParameterLayout& layout, const CommunicationOptions& options,
                                         int ranks, std::size_t statistics, std::size_t norms,
                                         const SlotBytes& sample = {});
  /// `communicator` and `parameters` must outlive this object. `statistics`, `norms`, `sample`: as
  /// in reduction_memory().
  GradientReduction(Communicator& communicator, ParameterStore& parameters, ReduceType type,
                    const BatchMean& mean, std::size_t statistics = 0, std::size_t norms = 0,
                    const SlotBytes& sample = {});

  /// Called after each block, in backward order. Starts the buckets that are complete with the gradients of
  /// `block`, and completes the reductions whose slots they reuse, or whose memory the gradients of the next
  /// block (`block` - 1) reuse.
  void block_done(const Execution& exec, std::size_t block);
  /// Completes the buckets that have been started, so that nothing is in flight.
  void complete_started(const Execution& exec) { complete(exec, started_); }
  /// Starts the remaining buckets and completes all: this rank's slices then hold the sums.
  void finish(const Execution& exec);
  /// Does the same for a rank without samples: the buckets it starts are zeros.
  void finish_with_zeros(const Execution& exec);
  /// Called if the capture of reductions has failed: none is in flight.
  void undo_capture() { started_ = completed_ = 0; }

  /// Returns for each bucket the divisor that remains after finish().
  [[nodiscard]] const std::vector<float>& remaining_divisors() const { return remaining_; }
  /// Returns this rank's slice of every bucket's sums.
  [[nodiscard]] const std::vector<Tensor>& own_slices() const { return own_slices_; }
  [[nodiscard]] std::size_t bytes() const { return wire_.bytes() + communicator_.staging_bytes(); }

 private:
  struct BucketPlan {
    Tensor gradients;
    Tensor wire;  // the exchanged memory: the gradients themselves, or a copy in the wire type
    BucketDivision division;
    std::vector<Tensor> padding;  // memory that other buckets write
  };
  void start(const Execution& exec, std::size_t bucket);
  /// Completes the reductions whose slot and memory `bucket` reuses.
  void make_room(const Execution& exec, std::size_t bucket);
  /// Completes the first `buckets` buckets, which must have been started.
  void complete(const Execution& exec, std::size_t buckets);

  Communicator& communicator_;
  const ParameterLayout& layout_;
  Arena wire_;
  std::vector<BucketPlan> plans_;
  std::array<Request, buckets_in_flight> requests_;  // of each slot
  std::vector<float> remaining_;
  std::vector<Tensor> own_slices_;
  std::size_t started_ = 0;
  std::size_t completed_ = 0;
};

}  // namespace mylos
