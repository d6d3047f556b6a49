#include "mylos/data/arrays/array_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"
#include "mylos/data/arrays/array_store_state.hpp"
#include "mylos/data/arrays/files/file_pattern.hpp"
#include "mylos/data/arrays/sample_reader.hpp"
#include "mylos/data/arrays/survey/channel_statistics.hpp"

namespace mylos {
ArrayStore::ArrayStore(std::vector<std::string> files, const ArrayOptions& options, std::int64_t steps,
                       GroundTruth truth, std::vector<std::string> grid)
    : state_(std::make_shared<State>(std::move(files), options, steps, truth, std::move(grid))) {}

const std::string& ArrayStore::path() const {
  return state_->name;
}
const DatasetShape& ArrayStore::shape() const {
  return state_->shape;
}
const std::vector<std::int64_t>& ArrayStore::grid() const {
  return state_->grid;
}
const GridAxes& ArrayStore::axes() const {
  return state_->coordinates.axes;
}
LevelStep ArrayStore::level_step() const {
  return state_->coordinates.level_step;
}
SampleMask ArrayStore::mask() const {
  const auto of = [&](const State::Channels& channels) {
    return mask_of_channels(state_->cache->masks(), channels.sources, state_->layout.rollout.points,
                            channels.count(), channels.order);
  };
  return {of(state_->inputs), of(state_->targets)};
}
MissingNumbers ArrayStore::missing() const {
  return state_->missing;
}
std::vector<std::pair<std::string, double>> ArrayStore::missing_fractions() const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  std::vector<std::pair<std::string, double>> fractions;
  for (std::size_t i = 0; i < state.layout.arrays.size(); ++i) {
    const std::string& array = state.layout.arrays[i];
    if (!state.options.may_be_missing(array)) continue;
    fractions.emplace_back(array,
                           missing_fraction({state.layout, state.windows, *state.cache}, state.survey(), i));
  }
  return fractions;
}
std::vector<MaskSummary> ArrayStore::masks() const {
  return summaries_of(state_->cache->masks(), state_->layout.arrays);
}
const std::vector<std::string>& ArrayStore::input_names() const {
  return state_->layout.input_names;
}
const std::vector<std::string>& ArrayStore::target_names() const {
  return state_->layout.target_names;
}

void ArrayStore::reorder(const ColumnOrder& inputs, const ColumnOrder& targets) {
  apply_order(inputs, state_->inputs.order, state_->inputs.names);
  apply_order(targets, state_->targets.order, state_->targets.names);
}

std::string ArrayStore::location_of_input(std::int64_t sample, std::int64_t column) const {
  return state_->location_of(state_->inputs, sample, column);
}

std::string ArrayStore::location_of_target(std::int64_t sample, std::int64_t column) const {
  return state_->location_of(state_->targets, sample, column);
}

void ArrayStore::read_inputs(std::int64_t first, std::int64_t count, void* destination) const {
  state_->read(state_->inputs, first, count, static_cast<float*>(destination));
}

void ArrayStore::read_labels(std::int64_t, std::int64_t, std::int32_t*) const {
  fail_run(errors::internal, "{}: arrays have no labels", path());
}

void ArrayStore::read_targets(std::int64_t first, std::int64_t count, float* destination) const {
  if (!state_->targets.sources.empty()) state_->read(state_->targets, first, count, destination);
}

ColumnStatistics ArrayStore::input_statistics(Split part) const {
  return state_->statistics(state_->inputs, part);
}

ColumnStatistics ArrayStore::target_statistics(Split part) const {
  if (task() != Task::regression) fail_run(errors::internal, "{}: has no targets", path());
  return state_->statistics(state_->targets, part);
}

void ArrayStore::survey_over(RankGroup& ranks) const {
  const std::lock_guard lock(state_->mutex);
  // Ranks with other files fail when the identities are compared.
  if (values_of_ranks(ranks, state_->metadata).size() == 1) static_cast<void>(state_->survey(ranks));
}

std::string ArrayStore::identity() const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  Xxh128 digest;
  const std::string text = state.metadata + state.survey().digest();
  digest.update(text.data(), text.size());
  return digest.digest();
}

std::int64_t ArrayStore::reading_bytes() const {
  const State& state = *state_;
  return state.cache->memory_bytes() + state.files.memory_bytes() + state.windows.memory_bytes() +
         state.coordinates.memory_bytes() + state.encoder.memory_bytes() +
         static_cast<std::int64_t>(state.known_mask.size()) + state.bytes_of_whole;
}

std::shared_ptr<SampleStore> ArrayStore::boxes(const GridPart& part,
                                               const std::vector<std::int64_t>& /*grid*/) const {
  const std::lock_guard lock(state_->mutex);
  auto state = std::make_shared<State>(*state_, part);
  state->bytes_of_whole = reading_bytes() - state_->cache->memory_bytes();
  return std::shared_ptr<ArrayStore>(new ArrayStore(std::move(state)));
}

void ArrayStore::release() const {
  const std::lock_guard lock(state_->mutex);
  state_->cache->release();
}

std::int64_t ArrayStore::block_samples() const {
  return state_->block;
}

const RolloutLayout& ArrayStore::rollout() const {
  return state_->layout.rollout;
}
const ArrayOptions& ArrayStore::options() const {
  return state_->options;
}
const std::vector<std::string>& ArrayStore::files() const {
  return state_->files.paths();
}

Split ArrayStore::samples_of(std::int64_t file) const {
  const State& state = *state_;
  return {state.windows.first_window(file) * state.points_in_window,
          state.windows.windows_in(file) * state.points_in_window};
}

WindowLocation ArrayStore::location_of(std::int64_t sample) const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const WindowIndex::Position window = state.windows.position_of(sample / state.points_in_window);
  const std::int64_t newest = window.level + state.layout.rollout.history - 1;
  WindowLocation location{.file = window.file, .level = newest, .point = sample % state.points_in_window};
  for (const SlicedAxis& axis : state.files.open(window.file).arrays.front().axes()) {
    if (axis.name == time_axis) location.newest = axis.start + newest * axis.step;
    if (axis.name != sample_axis) continue;
    location.sample = axis.start + (axis.role == AxisRole::level ? newest : window.trajectory) * axis.step;
  }
  return location;
}

bool ArrayStore::follow(std::int64_t first, std::int64_t last) const {
  return state_->windows.follow(first / state_->points_in_window, last / state_->points_in_window);
}

const std::vector<ArrayReport>& ArrayStore::arrays() const {
  return state_->reports;
}

std::vector<std::string> ArrayStore::target_arrays() const {
  std::vector<std::string> arrays;
  for (const ChannelSource& source : state_->targets.sources)
    arrays.insert(arrays.end(), static_cast<std::size_t>(source.count), state_->layout.arrays[source.array]);
  ColumnOrder stored;
  apply_order(state_->targets.order, stored, arrays);
  return arrays;
}

std::vector<std::uint8_t> ArrayStore::mask_of(const std::string& array) const {
  State& state = *state_;
  return state.with_array(0, array, [&](const hdf5::File& file, const OpenArray& opened, auto number) {
    return number ? state.cache->masks()[*number].counts
                  : mask_in(file, opened, state.options, state.files.grid()).counts;
  });
}

void ArrayStore::encode_level(std::int64_t file, std::int64_t level, double step_ms, float* inputs) const {
  const State& state = *state_;
  const std::int64_t points = state.layout.rollout.points;
  state.encoder.write(times(file), level, step_ms, 0, points, state.inputs.count(), inputs);
  put_channels_in_order(state.inputs.order, points, inputs);
}

const LevelTimes& ArrayStore::times(std::int64_t file) const {
  return state_->coordinates.times[static_cast<std::size_t>(file)];
}

ArrayCoordinates ArrayStore::coordinates(std::int64_t file, const std::string& array) const {
  return state_->with_array(file, array, [](const hdf5::File& opened, const OpenArray& of, auto /*number*/) {
    return coordinates_of(opened, of);
  });
}

std::shared_ptr<ArrayStore> open_array_store(const std::vector<std::string>& names,
                                             const ArrayOptions& options, std::int64_t steps,
                                             GroundTruth truth, std::vector<std::string> grid) {
  if (names.empty() || !options.given())
    fail_run(errors::internal, "a store of arrays needs files and inputs");
  return std::make_shared<ArrayStore>(files_of(names), options, steps, truth, std::move(grid));
}

}  // namespace mylos
