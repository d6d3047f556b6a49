// MemoryStatement: the bytes that a rank of a run takes, from shapes alone, before any of them are taken.
//
// What does not depend on recomputation is listed by name; the activation arena of one micro-batch is left to
// the plan, which is made from `cost`. All ranks have the same statement: that of the largest share of the
// batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/train/plan/sample_needs.hpp"

namespace mylos {

struct MemoryEntry {
  std::string name;
  std::size_t bytes = 0;
  bool with_network = true;  // in the memory that the network lives in; on host-only builds there is no other
};

/// Where and how a run is to go on.
struct RunPlace {
  int ranks = 1;
  int ranks_on_node = 1;
  std::size_t process_bytes = 0;  // of one rank's process after start-up
};

/// Where bytes must be found, and how many there are.
struct MemoryProblem {
  const Options& options;  // of which the model is complete
  GemmEngine& gemm;
  RunPlace place = {};
  const RunData* data = nullptr;  // null where there is no data file: batches are then all that is counted
  std::size_t budget = 0;         // bytes of a rank
  MachineRates rates = {};        // that times are modelled by
  bool starts = false;            // the run starts now: a budget that `mylos plan` was content with must do

  /// The same for other options, of a run that does not start now.
  [[nodiscard]] MemoryProblem with(const Options& others) const {
    return {others, gemm, place, data, budget, rates};
  }
};

/// By how much the process of one start may be larger than that of another: pages of libraries that happen to
/// be in memory, code that another way to this point has touched. Seen: 1.5 MiB.
inline constexpr std::size_t start_spread = std::size_t{3} << 20;

struct MemoryStatement {
  RunPlace place;
  std::vector<MemoryEntry> entries;      // all but the activations
  ChainCost cost;                        // of a micro-batch; times by the model, until others are put in
  std::size_t evaluation_bytes = 0;      // the least that the activation arena takes
  std::int64_t micro_batch = 0;          // samples
  std::int64_t micro_batches = 0;        // of a step
  SampleNeeds needs = {};                // of all layers, in the micro-batches of
  StepPartition partition = {};          // a step
  bool normalises_over_samples = false;  // some layer's statistics are those of a micro-batch
  bool accumulates = false;              // gradients are those of a run that adds up several
  std::int64_t parameters = 0;
  std::int64_t checkpoint_bytes = 0;  // of the weights and moments in a checkpoint
  std::size_t held_state_bytes = 0;   // of them, what a rank holds
  std::int64_t bucket_bytes = 0;      // of gradients; what communication.bucket comes to
  std::size_t buckets = 0;            // in which ranks reduce the gradients
  Shard shard = Shard::none;          // the deck's
  std::size_t saved_by_shards = 0;    // that the entries would have more with optimizer.shard = "none"
  std::size_t saved_by_masters = 0;   // likewise, with precision.masters = "fp32"

  /// Throws Error (bad_input) where a layer cannot be trained with the samples of some micro-batch.
  void require_enough_samples() const { mylos::require_enough_samples(needs, partition); }
  [[nodiscard]] bool has_enough_samples() const { return mylos::has_enough_samples(needs, partition); }
  /// Bytes of the entries that count against the budget.
  [[nodiscard]] std::size_t fixed_bytes() const;
  /// Of those that lie with the network.
  [[nodiscard]] std::size_t network_bytes() const;
  /// Takes `bytes`, at most twice start_spread, from what is set aside for libraries: for a process that is
  /// larger after start-up than that of an earlier start or of `mylos plan`.
  void reserve_for_process(std::size_t bytes);
};

/// "communication.bucket: 1.25 MiB; gradients are reduced in 8 buckets"; empty on one rank.
[[nodiscard]] std::string describe_buckets(const MemoryStatement& statement);

/// A line for whoever wants state to be cut over one rank, or gradients that would not take less memory;
/// empty for others. Throws as state_memory().
[[nodiscard]] std::string note_on_shards(const Options& options, int ranks);

/// Whatever the budget. Throws Error (bad_input) if there are more ranks than samples in a batch.
[[nodiscard]] MemoryStatement state_memory(const MemoryProblem& problem);

}  // namespace mylos
