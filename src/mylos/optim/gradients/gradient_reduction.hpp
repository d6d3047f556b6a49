// GradientReduction: sums the gradients of all ranks, bucket by bucket, while the backward pass goes on.
//
// A bucket is a reduce-scatter over equal slices, each summed in float by the binary tree over ranks: every
// rank gets its own slice of the sums, which is all that the step's decision takes. What follows it is
// WeightUpdate's. Half travels as float by default, bfloat16 as bfloat16.
//
// A window of buckets is reduced at one time: to start one ends the reduction of the one that was started
// buckets_in_flight before it, in whose slot of staging memory it travels. Where gradients are cut over ranks
// too (ZeRO-2), it takes that one's memory too: the sums go to a place of their own, and the backward pass
// waits for them before it writes there.
//
// Where gradients or what travels have 16 bits, the sum becomes the mean here, before its one rounding
// (BatchMean).
#pragma once

#include <array>
#include <vector>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/model/parameters/parameter_slices.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "mylos/optim/gradients/batch_mean.hpp"
#include "mylos/optim/options.hpp"

namespace mylos {

/// One is on the wire while the gradients of the next are computed; the others are what a rank may be ahead
/// of the slowest without waiting for it.
inline constexpr std::size_t buckets_in_flight = 4;

/// `window` of make_parameter_layout() for these options.
[[nodiscard]] inline std::size_t gradient_window(const OptimizerOptions& options, int ranks) {
  return options.cuts_gradients(ranks) ? buckets_in_flight : 0;
}

/// What a reduction over ranks takes beside the gradients. Buckets take slots in rotation; a slot is as large
/// as the largest of its buckets.
struct ReductionMemory {
  std::vector<DType> wire_types;       // of each bucket
  std::vector<std::size_t> exchanged;  // bytes of each slot: what the communicator makes room for
  std::vector<std::size_t> copied;  // bytes of each slot: buckets that travel in another type than their own
  [[nodiscard]] std::size_t copied_bytes() const;
};

/// `statistics`: bytes of the sums of statistics that ranks exchange too; they take statistics_slot().
/// `norms`: bytes that ranks exchange in the first slot while no bucket takes it.
[[nodiscard]] ReductionMemory reduction_memory(const ParameterLayout& layout, ReduceType type, int ranks,
                                               std::size_t statistics = 0, std::size_t norms = 0);

/// The one behind those of the buckets.
[[nodiscard]] inline std::size_t statistics_slot(const ParameterLayout& layout) {
  return std::min(layout.buckets.size(), buckets_in_flight);
}

class GradientReduction {
 public:
  /// `communicator` and `parameters` must outlive this object. `statistics`, `norms`: as in
  /// reduction_memory().
  GradientReduction(Communicator& communicator, ParameterStore& parameters, ReduceType type,
                    const BatchMean& mean, std::size_t statistics = 0, std::size_t norms = 0);

  /// Starts the buckets that are complete once the gradients of `block` are, and ends those whose slots they
  /// take, and those whose memory the gradients of the block before it take. All blocks, in backward order.
  void block_done(const Execution& exec, std::size_t block);
  /// Starts what was not started yet, and ends all: this rank's slices are sums.
  void finish(const Execution& exec);
  /// The same for a rank without samples: what it starts are zeros.
  void finish_with_zeros(const Execution& exec);

  /// For each bucket: by what its gradients are still to be divided after finish().
  [[nodiscard]] const std::vector<float>& remaining_divisors() const { return remaining_; }
  /// This rank's own slice of every bucket's sums.
  [[nodiscard]] const std::vector<Tensor>& own_slices() const { return own_slices_; }
  [[nodiscard]] std::size_t bytes() const { return wire_.bytes() + communicator_.staging_bytes(); }

 private:
  struct BucketPlan {
    Tensor gradients;
    Tensor wire;  // where it travels: the gradients themselves, or a copy in the wire's type
    BucketDivision division;
    std::vector<Tensor> padding;  // into which other buckets write
  };
  void start(const Execution& exec, std::size_t bucket);
  /// Ends all whose slots and memory `bucket` may take.
  void make_room(const Execution& exec, std::size_t bucket);
  /// Ends the first `buckets` of all, each of which was started.
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
