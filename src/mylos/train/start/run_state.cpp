#include "mylos/train/start/run_state.hpp"

#include <fmt/ranges.h>

#include <iterator>
#include <utility>

#include "mylos/config/deck.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/plan/plan_document.hpp"

namespace mylos {
namespace {

/// Of which earlier builds wrote nothing: they begin where such a checkpoint is gone on from.
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

void add_scaling(CheckpointState& state, const std::string& of, ColumnScaling& scaling) {
  if (scaling.identity()) return;
  const std::string group = "/data/normalization/" + of;
  const auto columns = static_cast<std::int64_t>(scaling.shift.size());
  state.add_host(group + "/shift", scaling.shift.data(), {columns});
  state.add_host(group + "/scale", scaling.scale.data(), {columns});
}

void add_data(CheckpointState& state, RunState& run) {
  state.add_scalar("/data/position", run.position);
  state.add_scalar("/data/epoch", run.epoch);
  state.add_text("/data/identity", run.data_identity);
  add_scaling(state, "inputs", run.normalizer.inputs);
  add_scaling(state, "targets", run.normalizer.targets);
}

constexpr const char* range_group = "/input_range";

/// Earlier builds kept none.
void add_range(CheckpointState& state, InputRange& range) {
  const auto size = static_cast<std::int64_t>(range.minimum.size());
  if (size == 0) return;
  for (auto& [name, values] : {std::pair{"min", &range.minimum}, std::pair{"max", &range.maximum}}) {
    state.add_host(fmt::format("{}/{}", range_group, name), values->data(), {size});
    state.let_last_be_missing();
  }
}

void add_vocabulary(CheckpointState& state, RunState& run) {
  if (!run.vocabulary) return;
  run.vocabulary_size = run.vocabulary->size();
  state.add_text("/vocabulary/kind", std::string(name_of(run.vocabulary->kind())));
  state.add_scalar("/vocabulary/size", run.vocabulary_size);
  state.add_text("/vocabulary/characters", run.vocabulary->text());
}

/// A parameter's masters or a moment of them.
void add_held(CheckpointState& state, const ParameterLayout& layout, const std::string& path,
              const HeldPart& part, std::vector<std::int64_t> dims) {
  state.add_weights(path, part.first, part.values, std::move(dims), layout.shard_owners > 1);
}

constexpr const char* average_group = "/average";

/// Room for what the file holds; its values are read later.
ColumnScaling room_for_scaling(const CheckpointReader& reader, const std::string& of) {
  ColumnScaling scaling;
  const std::string group = "/data/normalization/" + of;
  if (!reader.exists(group)) return scaling;
  const auto columns = static_cast<std::size_t>(reader.length(group + "/shift"));
  scaling.shift.resize(columns);
  scaling.scale.resize(columns);
  return scaling;
}

InputRange room_for_range(const CheckpointReader& reader) {
  InputRange range;
  if (!reader.exists(range_group)) return range;
  const auto length = [&](const char* name) {
    return static_cast<std::size_t>(reader.length(fmt::format("{}/{}", range_group, name)));
  };
  range.minimum.resize(length("min"));
  range.maximum.resize(length("max"));
  if (range.minimum.size() == range.maximum.size()) return range;
  fail_input("{}: {}/min has {} columns, {}/max {}", reader.path(), range_group, range.minimum.size(),
             range_group, range.maximum.size());
}

/// Of each parameter, what a rank holds.
template <class Part>
CheckpointState parameters_at(const std::string& group, const ParameterLayout& layout, const Part& part_of) {
  CheckpointState state;
  for (const auto& slots : layout.slots_of_block) {
    for (const std::size_t index : slots) {
      const ParameterSlot& slot = layout.slots[index];
      add_held(state, layout, group + "/" + slot.path(), part_of(index), stored_dims(slot.spec));
    }
  }
  return state;
}

/// Masters that are cut over ranks say nothing of replicas; the compute weights that all read do.
void add_compute_weights(CheckpointState& state, const Arena& weights) {
  const auto words = static_cast<std::int64_t>(weights.bytes() / sizeof(std::uint32_t));
  StateArray array{"compute weights", DType::uint32, {words}, {}, true};
  array.pieces.push_back({0, words, weights.data()});
  state.derived.push_back(std::move(array));
}

}  // namespace

void note_assembly(const Assembly& parts, RunState& state) {
  state.seed = parts.options.run.seed;
  state.gemm_engine = parts.gemm->name();
  state.micro_batch = parts.step.micro_batch;
  state.arena_bytes = static_cast<std::int64_t>(parts.trainer->model().activation_bytes());
  state.rank_bytes = static_cast<std::int64_t>(parts.memory.rank_bytes());
  state.operations = plan_json(parts.memory);
}

CheckpointState parameter_shapes(const ParameterLayout& layout) {
  return parameters_at("/model", layout, [](std::size_t) { return HeldPart{}; });
}

CheckpointState parameter_state(const ParameterStore& parameters, bool average) {
  return parameters_at(average ? average_group : "/model", parameters.layout(),
                       [&](std::size_t slot) { return parameters.held_master(slot); });
}

std::vector<std::int64_t> stored_dims(const ParameterSpec& spec) {
  if (spec.is_matrix) return {spec.rows, spec.columns};
  return {spec.columns};
}

void add_data_state(CheckpointState& state, RunState& run) {
  add_data(state, run);
  add_range(state, run.normalizer.input_range);
  add_vocabulary(state, run);
}

void add_samples(CheckpointState& state, const std::vector<std::int64_t>& grid,
                 const SampleMeaning& meaning) {
  if (!grid.empty()) state.add_text("/samples/grid", fmt::format("{}", fmt::join(grid, " ")));
  for (const auto& [path, names] : {std::pair{"/samples/class_names", &meaning.class_names},
                                    std::pair{"/samples/input_names", &meaning.input_names},
                                    std::pair{"/samples/target_names", &meaning.target_names}})
    if (!names->empty()) state.add_text(path, text_of_names(*names));
}

void add_buffers(CheckpointState& state, const BufferStore& buffers) {
  for (const BufferStore::StateBuffer& buffer : buffers.state())
    state.add_device("/buffers/" + buffer.path, buffer.values.as<float>(), {buffer.values.size()});
}

bool has_average(const CheckpointReader& reader) {
  return reader.exists(average_group);
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
      add_held(state, layout, path, optimizer.moment(i, slot), stored_dims(slots[slot].spec));
    }
  }
  if (optimizer.averages()) {
    CheckpointState average =
        parameters_at(average_group, layout, [&](std::size_t slot) { return optimizer.average(slot); });
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

std::string describe_rounding(const CheckpointReader& saved, const Options& options) {
  if (options.precision.masters == MasterWeights::fp32) return "";
  const auto layout_with = [&](const PrecisionOptions& precision) {
    return make_parameter_layout(make_chain(options.model, precision, options.run.seed, false), 0, 1);
  };
  const ParameterLayout before =
      layout_with(read_stored_deck(saved.header().deck, saved.path()).options.precision);
  const ParameterLayout now = layout_with(options.precision);
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

Normalizer read_normalizer(const CheckpointReader& reader) {
  Normalizer normalizer{room_for_scaling(reader, "inputs"), room_for_scaling(reader, "targets"),
                        room_for_range(reader)};
  RunState run;  // a reader takes a group as a whole
  run.normalizer = std::move(normalizer);
  CheckpointState state;
  add_data(state, run);
  add_range(state, run.normalizer.input_range);
  reader.read(state);
  return run.normalizer;
}

std::optional<Vocabulary> read_vocabulary(const CheckpointReader& reader) {
  if (!reader.exists("/vocabulary")) return std::nullopt;
  RunState run;
  run.vocabulary = Vocabulary::bytes();  // makes room; the file says which it is
  CheckpointState state;
  add_vocabulary(state, run);
  reader.read(state);
  const std::string& kind = state.texts.front().text;
  if (run.vocabulary_size < 1) {
    fail_input("{}: /vocabulary/size is {}, expected at least 1", reader.path(), run.vocabulary_size);
  }
  if (kind == name_of(TokenKind::bytes)) return Vocabulary::bytes();
  if (kind == name_of(TokenKind::characters)) return Vocabulary::characters(state.texts.back().text);
  return Vocabulary::tokens(run.vocabulary_size);
}

}  // namespace mylos
