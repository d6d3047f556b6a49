#include "mylos/train/plan/memory_statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/memory/placement.hpp"
#include "mylos/model/rollout/feedback_store.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "mylos/optim/gradients/micro_batch_tree.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/train/evaluation/measures/wanted_measures.hpp"
#include "mylos/train/evaluation/rollout_evaluation.hpp"
#include "mylos/train/evaluation/sample_pictures.hpp"
#include "mylos/train/health/health_rows.hpp"
#include "mylos/train/plan/library_code.hpp"
#include "mylos/train/step/staging.hpp"
#include "mylos/train/step/trainer_memory.hpp"

namespace mylos {
namespace {

// The maximum number of rows of a micro-batch: GEMM libraries count them in 32 bits.
constexpr std::int64_t max_rows = (std::int64_t{1} << 31) - 1;

/// Adds up the entries of each name, in the order in which the parts first mention it.
std::vector<MemoryEntry> sum_of(std::initializer_list<PartMemory> parts) {
  std::vector<MemoryEntry> sum;
  for (const PartMemory& part : parts) {
    for (const MemoryEntry& entry : part) {
      const auto has_name = [&](const MemoryEntry& other) { return other.name == entry.name; };
      const auto found = std::find_if(sum.begin(), sum.end(), has_name);
      if (found == sum.end()) {
        sum.push_back(entry);
      } else {
        found->bytes += entry.bytes;
      }
    }
  }
  return sum;
}

/// Asks every part of a run. A part with memory of its own is added here, where plans are to print it.
std::vector<MemoryEntry> entries_of(const MemoryProblem& problem, std::int64_t token_bytes) {
  const NetworkPlan& network = problem.network;
  const Options& options = network.options;
  const Chain& chain = network.chain;
  const RunData* const data = problem.data;
  const std::int64_t samples = network.step.micro_batch;
  const std::size_t evaluated = evaluated_parts(data).size();
  return sum_of({
      process_entries(problem.processes),
      convolution_code(network, problem.engines, data),
      trainer_memory(network),
      HealthRows::memory(options.health, network.layout.slots.size()),
      MicroBatchTree::memory(network.layout, network.step.tree_leaves()),
      FeedbackStore::memory(network.rollout ? network.rollout->options : options.rollout, chain, samples),
      StagedBatches::memory(network, data, token_bytes),
      evaluation_memory(chain, samples, options.run.metrics),
      evaluation_pass_memory(data, evaluation_options(network, 0)),
      name_memory(data == nullptr ? SampleMeaning() : data->meaning()),
      WantedMeasures::memory(options.run.metrics, chain, samples, evaluated, options.model.part.count()),
      SamplePictures::memory(chain, evaluated > 0, options.model.part.count()),
      RolloutEvaluation::memory(options, chain, samples, network.ranks, data != nullptr),
      checkpoint_memory(),
  });
}

/// Returns the modelled time of the update on a rank, from its memory traffic. It reads gradients, reads and
/// writes masters and moments, and writes compute weights, which it also reads if there are no masters. Lamb
/// reads weights and moments twice.
double update_time_of(const OptimizerOptions& options, const ParameterLayout& layout,
                      const MachineRates& rates) {
  const auto shard_owners = static_cast<std::size_t>(layout.shard_owners);
  std::size_t gradients = 0;
  for (const GradientBucket& bucket : layout.buckets)
    gradients += static_cast<std::size_t>(bucket.count) * size_of(bucket.type);
  const std::size_t weights = (layout.keeps_masters ? 1 : 2) * layout.compute_bytes / shard_owners;
  const std::size_t passes = traits_of(options.type).has_trust_ratios ? 3 : 2;
  const std::size_t bytes = gradients / shard_owners +
                            passes * (layout.master_bytes() + Optimizer::memory_bytes(options, layout)) +
                            weights;
  return static_cast<double>(bytes) / rates.bytes;
}

/// Throws Error if a reproducible run would have sums whose order depends on the micro-batches and ranks of
/// a step.
void require_reproducible_sums(const NetworkPlan& network) {
  if (!network.options.run.reproducible || BufferStore::sum_bytes(network.chain) == 0) return;
  fail_input(
      errors::not_reproducible,
      "run.reproducible: the running statistics of batch normalisation are sums whose last bits differ with "
      "the number of ranks; norm = \"groupnorm\" and \"layernorm\" have none");
}

/// Returns the bytes that a rank saves compared with `other` options of masters, moments and gradients.
std::size_t saved_against(const NetworkPlan& network, Options other) {
  const std::size_t bytes = sharded_bytes(network);
  const std::size_t others = sharded_bytes(network.with(std::move(other)));
  return others - std::min(others, bytes);  // padding may exceed a small network's moments
}

/// Returns the bytes that a rank saves compared with storing all masters and moments.
std::size_t saved_by_shards(const NetworkPlan& network) {
  if (network.layout.shard_owners == 1) return 0;
  Options plain = network.options;
  plain.optimizer.shard = Shard::none;
  return saved_against(network, std::move(plain));
}

/// Returns the bytes that a rank saves compared with masters for its 16-bit weights.
std::size_t saved_by_masters(const NetworkPlan& network) {
  if (network.layout.keeps_masters) return 0;
  Options plain = network.options;
  plain.precision.masters = MasterWeights::fp32;
  return saved_against(network, std::move(plain));
}

/// Returns the largest power of two of a bucket size with which sharded gradients take less memory than
/// complete ones.
std::optional<std::int64_t> sharding_bucket(const NetworkPlan& network) {
  for (std::size_t bytes = std::bit_floor(network.layout.gradient_bytes); bytes > 0; bytes /= 2) {
    const auto bucket = static_cast<std::int64_t>(bytes);
    if (network_layout(network.options, network.chain, network.ranks, bucket).cuts_gradients()) return bucket;
  }
  return std::nullopt;
}

/// Returns a note if the deck requests sharded gradients and they are not sharded; "" otherwise.
std::string note_on_unsharded_gradients(const NetworkPlan& network) {
  if (network.layout.cuts_gradients()) return "";
  const std::size_t buckets = network.layout.buckets.size();
  const std::string cause =
      buckets <= buckets_in_flight
          ? fmt::format("they are {} bucket{}, and {} are reduced at one time", buckets,
                        buckets == 1 ? "" : "s", buckets_in_flight)
          : fmt::format("{} of their {} buckets and a rank's slices of all would take no less memory",
                        buckets_in_flight, buckets);
  const std::optional<std::int64_t> bucket = sharding_bucket(network);
  return fmt::format("optimizer.shard = \"gradients\": gradients stay whole, as with \"state\": {}; {}",
                     cause,
                     bucket ? fmt::format("communication.bucket = \"{}\" cuts them", format_bytes(*bucket))
                            : "no communication.bucket cuts them, as the network has too few layers");
}

}  // namespace

std::string note_on_shards(const NetworkPlan& network) {
  const Shard shard = network.options.optimizer.shard;
  if (shard == Shard::none) return "";
  if (network.ranks > 1) return shard == Shard::gradients ? note_on_unsharded_gradients(network) : "";
  return fmt::format("optimizer.shard = \"{}\": one rank holds all masters and moments{}, as with \"none\"",
                     name_of(shard), shard == Shard::gradients ? " and gradients" : "");
}

std::string describe_buckets(const MemoryStatement& statement) {
  if (statement.ranks == 1) return "";
  return fmt::format("communication.bucket: {}; gradients are reduced in {} bucket{}",
                     format_bytes(statement.bucket_bytes), statement.buckets,
                     statement.buckets == 1 ? "" : "s");
}

std::size_t MemoryStatement::fixed_bytes() const {
  std::size_t sum = 0;
  for (const MemoryEntry& entry : entries) sum += memory_is_host || entry.with_network ? entry.bytes : 0;
  return sum;
}

std::size_t MemoryStatement::network_bytes() const {
  std::size_t sum = 0;
  for (const MemoryEntry& entry : entries) sum += entry.with_network ? entry.bytes : 0;
  return sum;
}

std::size_t MemoryStatement::host_bytes() const {
  std::size_t sum = 0;
  for (const MemoryEntry& entry : entries)
    sum += entry.with_network || entry.name == process_name ? 0 : entry.bytes;
  return sum;
}

void MemoryStatement::reserve_for_process(std::size_t bytes) {
  for (MemoryEntry& entry : entries) {
    if (entry.name == library_name) entry.bytes -= std::min(bytes, 2 * start_spread);
  }
}

void MemoryStatement::return_reserve() {
  for (MemoryEntry& entry : entries) {
    if (entry.name == library_name) entry.bytes = library_reserve;
  }
}

MemoryStatement state_memory(const MemoryProblem& problem) {
  const NetworkPlan& network = problem.network;
  const Options& options = network.options;
  const StepPlan& step = network.step;
  const Chain& chain = network.chain;
  const ParameterLayout& layout = network.layout;
  if (step.micro_batch > max_rows / chain.rows_per_sample) {
    fail_input(
        errors::too_large,
        "a micro-batch of {} samples of {} rows each is more than {} rows; set data.micro_batch to at most "
        "{}",
        step.micro_batch, chain.rows_per_sample, max_rows, max_rows / chain.rows_per_sample);
  }
  require_reproducible_sums(network);

  MemoryStatement statement;
  statement.ranks = network.ranks;
  statement.processes = problem.processes;
  const std::int64_t rows = step.micro_batch * chain.rows_per_sample;
  const ChainCost own = chain_cost(chain, problem.engines, rows, problem.rates);
  statement.evaluation_bytes = make_evaluation_layout(own, 0).bytes;
  statement.cost =
      network.rollout ? chain_cost(network.training_chain(), problem.engines, rows, problem.rates) : own;
  if (network.rollout)
    (network.rollout->runs_alone() ? statement.passes : statement.copies) = options.rollout.steps;
  statement.micro_batch = step.micro_batch;
  statement.micro_batches = step.max_micro_batches;
  statement.needs = sample_needs(chain);
  statement.partition = {options.data.batch, options.data.micro_batch, network.mesh().batch_ranks()};
  statement.accumulates = step.accumulates;
  statement.normalises_over_samples = BufferStore::sum_bytes(chain) > 0;
  statement.parameters = chain.parameter_count();
  statement.cost.update_time = update_time_of(options.optimizer, layout, problem.rates);
  statement.bucket_bytes = layout.bucket_bytes;
  statement.buckets = layout.buckets.size();
  statement.shard = options.optimizer.shard;
  statement.saved_by_shards = saved_by_shards(network);
  statement.saved_by_masters = saved_by_masters(network);
  const StateBytes state = state_bytes(network);
  statement.checkpoint_bytes = state.in_file;
  statement.local_state_bytes = state.on_rank;
  statement.token_bytes = token_share(problem.budget, problem.processes);

  if (const RunData* data = problem.data) {
    statement.local_state_bytes += static_cast<std::size_t>(data->normalizer_bytes());
    const std::int64_t saved = data->saved_by_blocks(training_reader(network, 0, statement.token_bytes));
    statement.saved_by_blocks = static_cast<std::size_t>(std::max<std::int64_t>(0, saved));
  }
  statement.entries = entries_of(problem, statement.token_bytes);
  return statement;
}

}  // namespace mylos
