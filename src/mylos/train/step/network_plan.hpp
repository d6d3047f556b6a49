// NetworkPlan: what a set of options determines on a rank: the chain of blocks, the layout of its parameters
// and the division of a step.
//
// It is made once for a set of options and handed on: checks, memory plans, refusals, advice, the choice of
// GEMM engines and the trainer read it. Other options, of what would fit the memory, say, make another plan,
// which shares what they leave as it is. A copy shares the blocks.
#pragma once

#include <optional>
#include <string>

#include "mylos/config/options.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/model/rollout/rollout_chain.hpp"
#include "mylos/train/step/step_plan.hpp"

namespace mylos {

class Mesh;
struct SlotBytes;

struct NetworkPlan {
  Options options;  // complete, including the sizes that the data determine
  int rank = 0;
  int ranks = 1;
  bool input_gradients = false;              // whether passes can compute the gradient of the network's input
  StepPlan step;                             // of this rank
  Chain chain;                               // of its part of a sample; gradients have the types of `step`
  std::optional<RolloutChain> rollout = {};  // its copies, if training runs several or with noise
  ParameterLayout layout;                    // over these ranks

  /// Returns how the ranks share samples, as seen from this rank or from another one.
  [[nodiscard]] Mesh mesh() const;
  [[nodiscard]] Mesh mesh_of(int other) const;
  /// Returns the largest exchanges of a pass between the ranks that share its samples.
  [[nodiscard]] SampleExchangeSizes exchanges() const;
  /// Returns what the communicator reserves for them; nothing if samples are whole.
  [[nodiscard]] SlotBytes sample_slot() const;
  /// Return the plan of other options, on the same ranks or as the first of `others`. They throw as
  /// plan_network().
  [[nodiscard]] NetworkPlan with(Options changed) const;
  [[nodiscard]] NetworkPlan with(Options changed, int others) const;
  /// Returns the chain that a pass of training runs: that of all copies of a rollout.
  [[nodiscard]] Chain training_chain() const { return rollout ? rollout->planned() : chain; }
  /// Returns the plan of another rank, whose box of samples may have another size.
  [[nodiscard]] NetworkPlan of_rank(int other) const;
  /// Returns the plan of the rank with the largest box of this rank's samples: all of them agree on what it
  /// can do.
  [[nodiscard]] NetworkPlan of_largest_box() const;
  /// Returns the plan with this data.micro_batch.
  [[nodiscard]] NetworkPlan with_micro_batch(std::int64_t samples) const;
};

/// Returns how ranks share samples, "each sample is divided into 2 x 1 boxes of 12 x 16 points; 2 groups of 2
/// ranks share the batch", with the choice of mesh.space = "auto" before it; "" if the deck divides none.
[[nodiscard]] std::string describe_mesh(const NetworkPlan& network);

/// Returns the plan of a deck that check_options() has accepted. Throws Error (bad_input) as make_step_plan()
/// and make_chain().
[[nodiscard]] NetworkPlan plan_network(Options options, int rank, int ranks, bool input_gradients = false);

/// Returns the layout of the parameters of `chain`, made by these options, over `ranks` ranks, with another
/// size of buckets than that of the options.
[[nodiscard]] ParameterLayout network_layout(const Options& options, const Chain& chain, int ranks,
                                             std::int64_t bucket_bytes);
[[nodiscard]] inline ParameterLayout network_layout(const Options& options, const Chain& chain, int ranks) {
  return network_layout(options, chain, ranks, options.communication.bucket_bytes);
}

}  // namespace mylos
