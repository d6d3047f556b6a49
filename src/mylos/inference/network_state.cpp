#include "mylos/inference/network_state.hpp"

#include <fmt/format.h>

#include <utility>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

constexpr const char* model_group = "/model";
constexpr const char* average_group = "/average";
constexpr const char* range_group = "/input_range";
constexpr const char* weights_path = "/loss/weights";

void add_scaling(CheckpointState& state, const std::string& of, ColumnScaling& scaling) {
  if (scaling.identity()) return;
  const std::string group = "/data/normalization/" + of;
  const auto columns = static_cast<std::int64_t>(scaling.shift.size());
  state.add_host(group + "/shift", scaling.shift.data(), {columns});
  state.add_host(group + "/scale", scaling.scale.data(), {columns});
}

void add_data(CheckpointState& state, const DataFields& fields) {
  state.add_scalar("/data/position", fields.position);
  state.add_scalar("/data/epoch", fields.epoch);
  state.add_text("/data/identity", fields.identity);
  add_scaling(state, "inputs", fields.normalizer.inputs);
  add_scaling(state, "targets", fields.normalizer.targets);
}

/// Earlier builds stored none.
void add_range(CheckpointState& state, InputRange& range) {
  const auto size = static_cast<std::int64_t>(range.minimum.size());
  if (size == 0) return;
  for (auto& [name, values] : {std::pair{"min", &range.minimum}, std::pair{"max", &range.maximum}}) {
    state.add_host(fmt::format("{}/{}", range_group, name), values->data(), {size});
    state.let_last_be_missing();
  }
}

void add_vocabulary(CheckpointState& state, const DataFields& fields) {
  if (!fields.vocabulary) return;
  fields.vocabulary_size = fields.vocabulary->size();
  state.add_text("/vocabulary/kind", std::string(name_of(fields.vocabulary->kind())));
  state.add_scalar("/vocabulary/size", fields.vocabulary_size);
  state.add_text("/vocabulary/characters", fields.vocabulary->text());
}

/// Makes room for what the file holds; its values are read later.
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
  fail_input(errors::damaged, "{}: {}/min has {} columns, {}/max {}", reader.path(), range_group,
             range.minimum.size(), range_group, range.maximum.size());
}

/// Reads all but the vocabulary.
StoredData read_data_group(const CheckpointReader& reader) {
  StoredData data;
  data.normalizer = {room_for_scaling(reader, "inputs"), room_for_scaling(reader, "targets"),
                     room_for_range(reader)};
  CheckpointState state;
  add_data(state, data.fields());
  add_range(state, data.normalizer.input_range);
  reader.read(state);
  for (StateText& text : state.texts) data.identity = std::move(text.text);  // there is one
  return data;
}

}  // namespace

std::string parameter_path(const std::string& parameter, bool average) {
  return fmt::format("{}/{}", average ? average_group : model_group, parameter);
}

std::vector<std::int64_t> stored_dims(const ParameterSpec& spec) {
  if (spec.is_matrix) return {spec.rows, spec.columns};
  return {spec.columns};
}

void add_held(CheckpointState& state, const ParameterLayout& layout, const std::string& path,
              const HeldPart& part, std::vector<std::int64_t> dims) {
  state.add_weights(path, part.first, part.values, std::move(dims), layout.shard_owners > 1);
}

CheckpointState parameters_held(const ParameterLayout& layout, bool average,
                                const std::function<HeldPart(std::size_t slot)>& part_of) {
  CheckpointState state;
  for (const auto& slots : layout.slots_of_block) {
    for (const std::size_t index : slots) {
      const ParameterSlot& slot = layout.slots[index];
      add_held(state, layout, parameter_path(slot.path(), average), part_of(index), stored_dims(slot.spec));
    }
  }
  return state;
}

CheckpointState parameter_state(const ParameterStore& parameters, bool average) {
  return parameters_held(parameters.layout(), average,
                         [&](std::size_t slot) { return parameters.held_master(slot); });
}

CheckpointState parameter_shapes(const ParameterLayout& layout) {
  return parameters_held(layout, false, [](std::size_t) { return HeldPart{}; });
}

void add_buffers(CheckpointState& state, const BufferStore& buffers) {
  for (const BufferStore::StateBuffer& buffer : buffers.state())
    state.add_device("/buffers/" + buffer.path, buffer.values.as<float>(), {buffer.values.size()});
}

bool has_average(const CheckpointReader& reader) {
  return reader.exists(average_group);
}

void add_data_fields(CheckpointState& state, const DataFields& fields) {
  add_data(state, fields);
  add_range(state, fields.normalizer.input_range);
  add_vocabulary(state, fields);
}

StoredData read_stored_data(const CheckpointReader& reader) {
  StoredData data = read_data_group(reader);
  data.vocabulary = read_vocabulary(reader);
  return data;
}

Normalizer read_normalizer(const CheckpointReader& reader) {
  return read_data_group(reader).normalizer;
}

void add_point_weights(CheckpointState& state, PointWeights& weights) {
  if (!weights.values.empty()) state.add_host(weights_path, weights.values.data(), weights.extents);
}

std::shared_ptr<const PointWeights> stored_point_weights(const CheckpointReader& reader) {
  if (!reader.exists(weights_path)) return nullptr;
  auto weights = std::make_shared<PointWeights>(
      PointWeights{fmt::format("{}: {}", reader.path(), weights_path), reader.dims(weights_path), {}});
  std::int64_t count = 1;
  for (const std::int64_t extent : weights->extents) count = checked_product(count, extent, weights_path);
  weights->values.resize(static_cast<std::size_t>(count));
  CheckpointState state;
  add_point_weights(state, *weights);
  reader.read(state);
  return weights;
}

std::optional<Vocabulary> read_vocabulary(const CheckpointReader& reader) {
  if (!reader.exists("/vocabulary")) return std::nullopt;
  StoredData data;
  data.vocabulary = Vocabulary::bytes();  // makes room; the file says which it is
  CheckpointState state;
  add_vocabulary(state, data.fields());
  reader.read(state);
  const std::string& kind = state.texts.front().text;
  if (data.vocabulary_size < 1) {
    fail_input(errors::bad_dataset, "{}: /vocabulary/size is {}, expected at least 1", reader.path(),
               data.vocabulary_size);
  }
  if (kind == name_of(TokenKind::bytes)) return Vocabulary::bytes();
  if (kind == name_of(TokenKind::characters)) return Vocabulary::characters(state.texts.back().text);
  return Vocabulary::tokens(data.vocabulary_size);
}

}  // namespace mylos
