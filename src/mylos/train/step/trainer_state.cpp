// Construction of a Trainer, and the host's access to its device state.
#include <utility>

#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/device/timed.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/optim/update/parameter_groups.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

ScalerMode scaler_mode(const Options& options, const Chain& chain) {
  return resolve_mode(options.precision.scaler.mode, chain.computes_in(DType::fp16));
}

/// The number of steps whose health is stored.
std::int64_t health_records(const HealthOptions& options) {
  return options.every > 0 ? Trainer::health_capacity : 0;
}

StepRule make_rule(const Options& options, const Chain& chain, const BatchMean& mean,
                   std::int64_t run_steps) {
  StepRule rule;
  rule.scaler = scaler_rule(options.precision.scaler, scaler_mode(options, chain));
  rule.rate = learning_rate(options.optimizer, options.schedule, run_steps);
  rule.clip_norm = options.optimizer.clip_norm;
  rule.beta1 = options.optimizer.beta1;
  rule.beta2 = options.optimizer.beta2;
  rule.planned_rows = mean.planned_rows();
  rule.health_every = options.health.every;
  rule.health_records = health_records(options.health);
  return rule;
}

/// Whether the offset of a micro-batch in the global batch is a key of random numbers.
bool has_random_numbers(const Options& options) {
  return options.rollout.noise > 0 || has_dropout(options.model);
}

/// Gradients of frozen parameters count neither in the norm for clipping nor as overflows.
std::vector<std::vector<Tensor>> frozen_gradients(const OptimizerOptions& options,
                                                  const ParameterStore& parameters) {
  const ParameterLayout& layout = parameters.layout();
  std::vector<std::vector<Tensor>> frozen(layout.slots_of_block.size());
  for (const ParameterSlot& slot : layout.slots) {
    if (settings_of(options, slot).frozen) frozen[slot.block].push_back(parameters.gradient(slot));
  }
  return frozen;
}

/// Parameters are sharded: adds up the parts of all ranks in the order of ranks.
void add_over_ranks(RankGroup& ranks, std::vector<HealthRecord>& records) {
  for (HealthRecord& record : records) {
    const std::size_t parameters = record.parameters.size();
    std::vector<ParameterHealth> all(parameters * static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(record.parameters.data(), all.data(), parameters * sizeof(ParameterHealth));
    for (std::size_t i = 0; i < parameters; ++i) {
      record.parameters[i] = {};
      for (std::size_t part = i; part < all.size(); part += parameters) record.parameters[i] += all[part];
    }
  }
}

}  // namespace

Trainer::Trainer(const NetworkPlan& network, const Engines& engines, Communicator& communicator,
                 std::int64_t run_steps, std::optional<Schedule> schedule,
                 const std::vector<Schedule>& shorter)
    : execution_(std::make_shared<Execution>()),
      exec_(*execution_),
      communicator_(communicator),
      engines_(engines),
      plan_(network.step),
      model_(network.chain, network.layout, engines, plan_.micro_batch, std::move(schedule),
             communicator.rank(), network.rollout ? &*network.rollout : nullptr, shorter),
      mean_(plan_.parts(), plan_.micro_batch, model_.chain().rows_per_sample, communicator.size(),
            plan_.sum_boxes),
      tree_(plan_.reproducible ? std::optional<MicroBatchTree>(std::in_place, model_.parameters(),
                                                               static_cast<int>(plan_.micro_batches))
                               : std::nullopt),
      reduction_(communicator, model_.parameters(), network.options.communication.reduce_type, mean_,
                 BufferStore::sum_bytes(model_.chain()),
                 Optimizer::exchanged_bytes(network.options.optimizer, model_.parameters().layout()),
                 network.sample_slot()),
      statistics_(communicator, statistics_slot(model_.parameters().layout()), waits_.communication_s),
      sample_exchange_(
          plan_.boxes * plan_.sum_boxes > 1
              ? std::optional<SampleExchange>(
                    std::in_place, communicator, network.mesh(),
                    sample_slot(model_.parameters().layout(), BufferStore::sum_bytes(model_.chain())),
                    network.exchanges(), waits_.communication_s)
              : std::nullopt),
      passes_(model_.exchanges_in_passes() ? plan_.max_micro_batches : plan_.micro_batches),
      optimizer_(network.options.optimizer, model_.parameters(), reduction_.remaining_divisors(),
                 communicator.size() > 1, health_records(network.options.health), network.options.run.seed),
      update_(communicator, model_.parameters(), optimizer_, waits_.communication_s),
      check_(reduction_.own_slices(), reduction_.remaining_divisors(), communicator.rank(),
             plan_.reproducible ? std::optional<ExactSquares>(std::in_place, communicator,
                                                              reduction_.own_slices(), waits_.communication_s)
                                : std::nullopt),
      agreement_(communicator.rank(), communicator.size()),
      rule_(make_rule(network.options, model_.chain(), mean_, run_steps)),
      initial_scaler_(initial_scaler_state(network.options.precision.scaler,
                                           scaler_mode(network.options, model_.chain()))),
      step_input_(make_device_array<StepInput>("step input")),
      state_(make_device_array<StepState>("step state")),
      sums_(make_device_array<LossSums>("loss sums")),
      records_(make_device_array<StepRecord>("step records", record_capacity)),
      reduce_gradients_([this](std::size_t block) { reduce_gradients(block); }),
      keep_gradients_([](std::size_t) {}),
      await_weights_([this](std::size_t block) { await_weights(block); }),
      frozen_gradients_(frozen_gradients(network.options.optimizer, model_.parameters())),
      drops_(has_random_numbers(network.options)),
      rollout_(network.options.rollout),
      recorder_(network.options.kernels.graphs && !plan_.reproducible, drops_, communicator, exec_,
                [this] { undo_capture(); }) {
  if (plan_.micro_batches > 1 && model_.parameters().layout().cuts_gradients())
    fail_run(errors::internal, "sharded gradients are those of one micro-batch, not of {}",
             plan_.micro_batches);
  reserve_team_scratch(exec_);
  StepState state;
  state.scaler = initial_scaler_;
  write_state(state);
  model_.parameters().initialize(exec_, network.options.run.seed, network.options.model.initialize);
  begin_average();
}

Quiesced Trainer::quiesce() {
  update_.finish(exec_);
  finish_collectives();
  return {};
}

StepState Trainer::read_state() const {
  if constexpr (runs_on_host) return *state_.data();  // launching the last kernel ends the step
  StepState state;
  communicator_.synchronize(exec_);
  Kokkos::deep_copy(Kokkos::View<StepState*, Kokkos::HostSpace>(&state, 1), view_of(state_));
  return state;
}

void Trainer::write_state(const StepState& state) {
  StepState copy = state;
  steps_ = state.step;
  Kokkos::deep_copy(view_of(state_), Kokkos::View<StepState*, Kokkos::HostSpace>(&copy, 1));
}

std::vector<StepRecord> Trainer::read_records(std::uint64_t from, std::uint64_t to) const {
  if (to - from > static_cast<std::uint64_t>(record_capacity))
    fail_run(errors::internal, "records of the steps from {} to {}: only the last {} are kept", from + 1, to,
             record_capacity);
  communicator_.synchronize(exec_);
  const auto on_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view_of(records_));
  std::vector<StepRecord> result;
  for (std::uint64_t step = from; step < to; ++step) {
    result.push_back(on_host(step % static_cast<std::uint64_t>(record_capacity)));
  }
  return result;
}

std::vector<HealthRecord> Trainer::read_health(const Quiesced& /*quiet*/, std::uint64_t from,
                                               std::uint64_t to) const {
  std::vector<HealthRecord> result;
  for (std::uint64_t step = from + 1; step <= to; ++step) {
    const std::int32_t slot = health_record(rule_, step);
    if (slot < 0) continue;
    result.push_back({step, optimizer_.health().read(exec_, slot)});
  }
  if (model_.parameters().layout().shard_owners > 1) add_over_ranks(communicator_.ranks(), result);
  return result;
}

void Trainer::throw_if_failed(const Quiesced& /*quiet*/) {
  const std::optional<Error> own = std::exchange(error_, std::nullopt);
  communicator_.synchronize(exec_);
  throw_if_any(communicator_.ranks(), own);
  check_scales(exec_, communicator_, agreement_);
}

PartMemory Trainer::memory(const NetworkPlan& network) {
  const OptimizerOptions& optimizer = network.options.optimizer;
  std::vector<std::int64_t> slices;
  for (const BucketSlice& slice : slices_of_rank(network.layout, 0, network.ranks))
    slices.push_back(slice.count);
  return {
      {"check and records", Optimizer::list_bytes(optimizer, network.layout) +
                                GradientCheck::memory_bytes(slices, network.step.reproducible) +
                                AgreementBuffer::memory_bytes(network.ranks) + view_bytes(sizeof(StepInput)) +
                                view_bytes(sizeof(StepState)) + view_bytes(sizeof(LossSums)) +
                                static_cast<std::size_t>(record_capacity) * sizeof(StepRecord)},
      {"health records", HealthRing::memory_bytes(health_records(network.options.health), network.layout)}};
}

}  // namespace mylos
