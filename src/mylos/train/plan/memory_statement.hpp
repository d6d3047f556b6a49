// MemoryStatement: the bytes that a rank of a run allocates, computed from shapes before any allocation.
//
// Memory that does not depend on recomputation is the sum of what the parts of a run state. The plan, which
// is made from `cost`, determines the activation arena of one micro-batch. All ranks have the same statement,
// that of the largest local batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mylos/data/run/run_data.hpp"
#include "mylos/io/system/memory_shares.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/train/plan/sample_needs.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

/// What a memory plan is made of, and its limits.
struct MemoryProblem {
  NetworkPlan network;  // on any of its ranks: memory is that of the largest local batch
  Engines engines;
  RunProcesses processes = {};
  const RunData* data = nullptr;  // null if there is no data file; only batches are counted then
  std::size_t budget = 0;         // bytes of a rank
  MachineRates rates = {};        // rates for modelled times
  bool starts = false;            // the run starts now and must fit a budget that `mylos plan` accepted

  [[nodiscard]] const Options& options() const { return network.options; }
  /// Returns the problem of another network, for a run that does not start now.
  [[nodiscard]] MemoryProblem with(NetworkPlan other) const {
    return {std::move(other), engines, processes, data, budget, rates};
  }
};

struct MemoryStatement {
  int ranks = 1;
  RunProcesses processes;
  std::vector<MemoryEntry> entries;  // all but the activations
  ChainCost cost;                    // of a micro-batch; times are modelled, until measured ones replace them
  std::int64_t copies = 1;           // of the network in the chain of `cost`: a rollout
  std::int64_t passes = 1;           // of a micro-batch: copies of a rollout that run alone
  std::size_t evaluation_bytes = 0;  // minimum size of the activation arena
  std::int64_t micro_batch = 0;      // samples
  std::int64_t micro_batches = 0;    // per step
  SampleNeeds needs = {};            // of all layers
  StepPartition partition = {};      // micro-batches of a step
  bool normalises_over_samples = false;  // some layer's statistics depend on the micro-batch
  bool accumulates = false;              // gradients are sums over several micro-batches
  std::int64_t parameters = 0;
  std::int64_t checkpoint_bytes = 0;  // weights and moments in a checkpoint
  std::size_t local_state_bytes = 0;  // part of them that a rank holds
  std::int64_t bucket_bytes = 0;      // of gradients, from communication.bucket
  std::size_t buckets = 0;            // buckets in which ranks reduce the gradients
  Shard shard = Shard::none;          // as in the deck
  std::size_t saved_by_shards = 0;    // additional bytes of the entries with optimizer.shard = "none"
  std::size_t saved_by_masters = 0;   // likewise, with precision.masters = "fp32"
  std::size_t saved_by_blocks = 0;    // of the training data, if data.shuffle were "blocks"
  std::int64_t token_bytes = 0;       // what the reader of training data may hold of tokens

  /// Throws Error (bad_input) if some micro-batch has too few samples to train a layer.
  void require_enough_samples() const { mylos::require_enough_samples(needs, partition); }
  [[nodiscard]] bool has_enough_samples() const { return mylos::has_enough_samples(needs, partition); }
  /// Returns the bytes of the entries that count against the budget.
  [[nodiscard]] std::size_t fixed_bytes() const;
  /// Returns the bytes of these entries in the network's memory.
  [[nodiscard]] std::size_t network_bytes() const;
  /// Returns the bytes of those that are in the host's memory in any case, without the process.
  [[nodiscard]] std::size_t host_bytes() const;
  /// Takes `bytes`, at most twice start_spread, from the reserve for libraries. Called if the process is
  /// larger after start-up than that of an earlier start or of `mylos plan`.
  void reserve_for_process(std::size_t bytes);
  /// Undoes all calls of it.
  void return_reserve();
};

/// Returns "communication.bucket: 1.25 MiB; gradients are reduced in 8 buckets"; "" on one rank.
[[nodiscard]] std::string describe_buckets(const MemoryStatement& statement);

/// Returns a note if the deck requests sharded state on one rank, or sharded gradients that would save no
/// memory; "" otherwise.
[[nodiscard]] std::string note_on_shards(const NetworkPlan& network);

/// Returns the statement, regardless of the budget. Throws Error (bad_input) if a micro-batch has too many
/// rows, or if a reproducible run has sums that are not.
[[nodiscard]] MemoryStatement state_memory(const MemoryProblem& problem);

}  // namespace mylos
