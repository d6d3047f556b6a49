#include "mylos/train/start/run_state.hpp"

#include <fmt/ranges.h>

#include <iterator>
#include <utility>

#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

/// Earlier builds wrote none: statistics start anew where such a checkpoint is resumed.
void add_statistics(CheckpointState& state, ScalerState& scaler) {
  const auto add = [&state](const char* path, auto& value) {
    state.add_scalar(path, value);
    state.let_last_be_missing();
  };
  RecentOverflows& recent = scaler.recent;
  state.add_host("/scaler/recent_flags", recent.bits, {RecentOverflows::words});
  state.let_last_be_missing();
  add("/scaler/recent_noted", recent.noted);
  add("/scaler/recent_overflows", recent.overflows);
  add("/scaler/since_backoff", scaler.since_backoff);
  add("/scaler/applied", scaler.applied);
  add("/scaler/gradient_norm_sum", scaler.norm_sum);
  add("/scaler/reset_step", scaler.reset_step);
}

void add_scaler(CheckpointState& state, ScalerState& scaler) {
  state.add_scalar("/scaler/scale", scaler.scale);
  state.add_scalar("/scaler/good_steps", scaler.good_steps);
  state.add_scalar("/scaler/hysteresis_left", scaler.hysteresis_left);
  state.add_scalar("/scaler/skipped_in_a_row", scaler.skipped_in_a_row);
  state.add_scalar("/scaler/steps", scaler.steps);
  state.add_scalar("/scaler/overflows", scaler.overflows);
  state.add_scalar("/scaler/increases", scaler.increases);
  state.add_scalar("/scaler/decreases", scaler.decreases);
  state.add_scalar("/scaler/tolerated", scaler.tolerated);
  add_statistics(state, scaler);
}

/// Sharded masters do not show whether replicas are equal; the compute weights, which all ranks read, do.
void add_compute_weights(CheckpointState& state, const Arena& weights) {
  const auto words = static_cast<std::int64_t>(weights.bytes() / sizeof(std::uint32_t));
  StateArray array{"compute weights", DType::uint32, {words}, {}, true};
  array.pieces.push_back({0, words, weights.data()});
  state.derived.push_back(std::move(array));
}

}  // namespace

void record_weights(const ModelOptions& model, RunState& state) {
  if (model.point_weights) state.point_weights = *model.point_weights;
}

void note_assembly(const Assembly& parts, RunState& state) {
  record_weights(parts.network.options.model, state);
  state.seed = parts.network.options.run.seed;
  state.gemm_engine = parts.engines->gemm().name();
  state.micro_batch = parts.network.step.micro_batch;
  const bool is_uneven = parts.network.options.model.part.is_uneven();  // replicas state the largest box
  state.arena_bytes = static_cast<std::int64_t>(is_uneven ? parts.memory.arena_bytes()
                                                          : parts.trainer->model().activation_bytes());
  state.rank_bytes = static_cast<std::int64_t>(parts.memory.rank_bytes());
  state.operations = plan_json(parts.memory);
}

void add_data_state(CheckpointState& state, RunState& run) {
  add_stored_data(state, run.data);
  add_point_weights(state, run.point_weights);
}

CheckpointState full_state(const Quiesced& /*quiet*/, Trainer& trainer, RunState& run) {
  const ParameterStore& parameters = trainer.model().parameters();
  const ParameterLayout& layout = parameters.layout();
  CheckpointState state = parameter_state(parameters);
  if (layout.shard_owners > 1) add_compute_weights(state, parameters.compute_weights());
  const Optimizer& optimizer = trainer.optimizer();
  const std::vector<ParameterSlot>& slots = layout.slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    for (std::size_t i = 0; i < optimizer.moment_names().size(); ++i) {
      const std::string path =
          "/optimizer/" + slots[slot].path() + "/" + std::string(optimizer.moment_names()[i]);
      add_local(state, layout, path, optimizer.moment(i, slot), stored_dims(slots[slot].spec));
    }
  }
  if (optimizer.averages()) {
    CheckpointState average =
        local_parameters(layout, true, [&](std::size_t slot) { return optimizer.average(slot); });
    for (StateArray& array : average.arrays) array.may_be_missing = true;  // of a run that had none
    std::move(average.arrays.begin(), average.arrays.end(), std::back_inserter(state.arrays));
  }
  add_buffers(state, trainer.model().buffers());
  add_scaler(state, run.step.scaler);
  state.add_scalar("/schedule/step", run.step.step);
  state.add_scalar("/schedule/updates", run.step.updates);
  add_data_state(state, run);
  state.add_scalar("/random/seed", run.seed);
  state.add_scalar("/random/step", run.step.step);
  state.add_text("/random/generator", "Philox4x32-10");
  state.add_text("/plan/gemm_engine", run.gemm_engine);
  state.add_scalar("/plan/micro_batch", run.micro_batch);
  state.add_scalar("/plan/arena_bytes", run.arena_bytes);
  state.add_scalar("/plan/rank_bytes", run.rank_bytes);
  state.add_text("/plan/list", run.operations);
  return state;
}

std::string describe_rounding(const CheckpointReader& saved, const NetworkPlan& network) {
  Options options = network.options;
  if (options.precision.masters == MasterWeights::fp32) return "";
  options.precision = stored_options(saved).precision;
  const ParameterLayout before = network.with(std::move(options)).layout;
  const ParameterLayout& now = network.layout;
  std::int64_t rounded = 0;
  for (std::size_t i = 0; i < now.slots.size(); ++i) {
    const DType type = now.moved_type(now.slots[i]);
    if (type != DType::fp32 && type != before.moved_type(before.slots[i])) rounded += now.slots[i].size();
  }
  if (rounded == 0) return "";
  return fmt::format(
      "precision.masters = \"none\": {} weights of {} are rounded to nearest, once, to the 16 bits that are "
      "all "
      "there is of them from here on",
      rounded, saved.path());
}

}  // namespace mylos
