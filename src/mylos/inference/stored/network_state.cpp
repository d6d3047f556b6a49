#include "mylos/inference/stored/network_state.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/files/meaning/column_names.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

constexpr const char* model_group = "/model";
constexpr const char* average_group = "/average";
constexpr const char* range_group = "/input_range";
constexpr const char* weights_path = "/loss/weights";
constexpr const char* number_weights_path = "/loss/weights_of_numbers";
constexpr const char* grid_path = "/samples/grid";
constexpr const char* axes_path = "/samples/axes";
constexpr const char* array_axes_path = "/samples/array_axes";
constexpr const char* masks_path = "/samples/masks";
constexpr const char* level_step_path = "/samples/level_step";

constexpr std::pair<const char*, std::vector<std::string> SampleMeaning::*> names_by_path[] = {
    {"/samples/class_names", &SampleMeaning::class_names},
    {"/samples/input_names", &SampleMeaning::input_names},
    {"/samples/target_names", &SampleMeaning::target_names}};

void add_scaling(CheckpointState& state, const std::string& of, ColumnScaling& scaling) {
  if (scaling.identity()) return;
  const std::string group = "/data/normalization/" + of;
  const auto columns = static_cast<std::int64_t>(scaling.shift.size());
  state.add_host(group + "/shift", scaling.shift.data(), {columns});
  state.add_host(group + "/scale", scaling.scale.data(), {columns});
}

void add_data(CheckpointState& state, StoredData& data) {
  state.add_scalar("/data/position", data.position);
  state.add_scalar("/data/epoch", data.epoch);
  state.add_text("/data/identity", data.identity);
  add_scaling(state, "inputs", data.normalizer.inputs);
  add_scaling(state, "targets", data.normalizer.targets);
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

void add_vocabulary(CheckpointState& state, StoredData& data) {
  if (!data.vocabulary) return;
  data.vocabulary_size = data.vocabulary->size();
  state.add_text("/vocabulary/kind", std::string(name_of(data.vocabulary->kind())));
  state.add_scalar("/vocabulary/size", data.vocabulary_size);
  state.add_text("/vocabulary/characters", data.vocabulary->text());
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

/// Returns what tokens stand for; nothing for networks that read no tokens.
std::optional<Vocabulary> read_vocabulary(const CheckpointReader& reader) {
  if (!reader.exists("/vocabulary")) return std::nullopt;
  StoredData data;
  data.vocabulary = Vocabulary::bytes();  // makes room; the file says which it is
  CheckpointState state;
  add_vocabulary(state, data);
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

/// Returns the shape of the training samples on a grid; empty if the file does not state it.
std::vector<std::int64_t> stored_grid(const CheckpointReader& reader) {
  if (!reader.exists(grid_path)) return {};
  std::istringstream numbers(reader.text(grid_path));
  std::vector<std::int64_t> grid(std::istream_iterator<std::int64_t>(numbers), {});
  constexpr std::size_t max_dimensions = 4;  // 3 extents and the channels
  const bool is_grid = numbers.eof() && grid.size() <= max_dimensions &&
                       std::all_of(grid.begin(), grid.end(), [](std::int64_t extent) { return extent > 0; });
  if (!is_grid) {
    fail_input(errors::bad_dataset, "{}: {} is no list of 1 to 3 extents and channels", reader.path(),
               grid_path);
  }
  return grid;
}

}  // namespace

std::string parameter_path(const std::string& parameter, bool average) {
  return fmt::format("{}/{}", average ? average_group : model_group, parameter);
}

std::vector<std::int64_t> stored_dims(const ParameterSpec& spec) {
  if (spec.is_matrix) return {spec.rows, spec.columns};
  return {spec.columns};
}

void add_local(CheckpointState& state, const ParameterLayout& layout, const std::string& path,
               const HeldPart& part, std::vector<std::int64_t> dims) {
  state.add_weights(path, part.first, part.values, std::move(dims), layout.shard_owners > 1);
}

CheckpointState local_parameters(const ParameterLayout& layout, bool average,
                                 const std::function<HeldPart(std::size_t slot)>& part_of) {
  CheckpointState state;
  for (const auto& slots : layout.slots_of_block) {
    for (const std::size_t index : slots) {
      const ParameterSlot& slot = layout.slots[index];
      add_local(state, layout, parameter_path(slot.path(), average), part_of(index), stored_dims(slot.spec));
    }
  }
  return state;
}

CheckpointState parameter_state(const ParameterStore& parameters, bool average) {
  return local_parameters(parameters.layout(), average,
                          [&](std::size_t slot) { return parameters.held_master(slot); });
}

CheckpointState parameter_shapes(const ParameterLayout& layout) {
  return local_parameters(layout, false, [](std::size_t) { return HeldPart{}; });
}

void add_buffers(CheckpointState& state, const BufferStore& buffers) {
  for (const BufferStore::StateBuffer& buffer : buffers.state())
    state.add_device("/buffers/" + buffer.path, buffer.values.as<float>(), {buffer.values.size()});
}

bool has_average(const CheckpointReader& reader) {
  return reader.exists(average_group);
}

Options stored_options(const CheckpointReader& reader) {
  return read_stored_deck(reader.header().deck, reader.path()).options;
}

void add_stored_data(CheckpointState& state, StoredData& data) {
  add_data(state, data);
  add_range(state, data.normalizer.input_range);
  add_vocabulary(state, data);
}

StoredData read_stored_data(const CheckpointReader& reader) {
  StoredData data;
  data.normalizer = {room_for_scaling(reader, "inputs"), room_for_scaling(reader, "targets"),
                     room_for_range(reader)};
  CheckpointState state;
  add_data(state, data);
  add_range(state, data.normalizer.input_range);
  reader.read(state);
  for (StateText& text : state.texts) data.identity = std::move(text.text);  // there is one
  data.vocabulary = read_vocabulary(reader);
  return data;
}

void add_samples(CheckpointState& state, const std::vector<std::int64_t>& grid,
                 const SampleMeaning& meaning) {
  if (!grid.empty()) state.add_text(grid_path, fmt::format("{}", fmt::join(grid, " ")));
  if (const GridAxes axes = of_grid(meaning.axes); !axes.empty())
    state.add_text(axes_path, text_of_axes(axes));
  if (const GridAxes axes = of_arrays(meaning.axes); !axes.empty())
    state.add_text(array_axes_path, text_of_axes(axes));
  const LevelStep& step = meaning.level_step;
  if (step.is_stated()) state.add_text(level_step_path, text_of_step(step));
  if (!meaning.masks.empty()) state.add_text(masks_path, text_of_masks(meaning.masks));
  for (const auto& [path, names] : names_by_path)
    if (!(meaning.*names).empty()) state.add_text(path, text_of_names(meaning.*names));
}

SampleMeaning stored_samples(const CheckpointReader& reader) {
  SampleMeaning meaning{.grid = stored_grid(reader)};
  for (const char* path : {axes_path, array_axes_path}) {
    if (!reader.exists(path)) continue;
    const GridAxes axes = axes_of_text(reader.text(path), fmt::format("{}: {}", reader.path(), path));
    meaning.axes.insert(meaning.axes.end(), axes.begin(), axes.end());
  }
  if (reader.exists(level_step_path)) {
    meaning.level_step =
        step_of_text(reader.text(level_step_path), fmt::format("{}: {}", reader.path(), level_step_path));
  }
  if (reader.exists(masks_path))
    meaning.masks = masks_of_text(reader.text(masks_path), fmt::format("{}: {}", reader.path(), masks_path));
  for (const auto& [path, names] : names_by_path)
    if (reader.exists(path)) meaning.*names = names_of_text(reader.text(path));
  return meaning;
}

void add_point_weights(CheckpointState& state, PointWeights& weights) {
  if (weights.values.empty()) return;
  std::vector<std::int64_t> dims = weights.extents;
  if (weights.channels > 1) dims.push_back(weights.channels);
  state.add_host(weights.channels > 1 ? number_weights_path : weights_path, weights.values.data(), dims);
}

std::shared_ptr<const PointWeights> stored_point_weights(const CheckpointReader& reader) {
  const bool are_of_numbers = reader.exists(number_weights_path);
  const char* const path = are_of_numbers ? number_weights_path : weights_path;
  if (!are_of_numbers && !reader.exists(path)) return nullptr;
  auto weights = std::make_shared<PointWeights>(
      PointWeights{fmt::format("{}: {}", reader.path(), path), reader.dims(path), {}});
  std::int64_t count = 1;
  for (const std::int64_t extent : weights->extents) count = checked_product(count, extent, path);
  if (are_of_numbers) {
    if (weights->extents.empty() || weights->extents.back() < 2 || count == 0)
      fail_input(errors::damaged, "{}: {} has the shape [{}], expected points and at least 2 channels",
                 reader.path(), path, fmt::join(weights->extents, ", "));
    weights->channels = weights->extents.back();
    weights->extents.pop_back();
  }
  weights->values.resize(static_cast<std::size_t>(count));
  CheckpointState state;
  add_point_weights(state, *weights);
  reader.read(state);
  return weights;
}

}  // namespace mylos
