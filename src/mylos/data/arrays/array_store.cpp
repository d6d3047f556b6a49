#include "mylos/data/arrays/array_store.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"
#include "mylos/data/arrays/file_pattern.hpp"
#include "mylos/data/arrays/masks/array_mask.hpp"
#include "mylos/data/arrays/metadata_digest.hpp"
#include "mylos/data/arrays/sample_reader.hpp"
#include "mylos/data/arrays/statistics_file.hpp"
#include "mylos/data/arrays/stored_coordinates.hpp"
#include "mylos/data/options.hpp"

namespace mylos {
class ArrayStore::State {
 public:
  State(std::vector<std::string> paths, const ArrayOptions& given, std::int64_t steps, GroundTruth truth,
        std::vector<std::string> grid_axes)
      : options(with_available_targets(paths.front(), given, truth)),
        name(DataFiles(paths).text()),
        files(std::move(paths), arrays_of(options), options,
              grid_axes.empty() ? grid_axes_of(options) : std::move(grid_axes)),
        layout(sample_layout(options, steps, files.open(0).arrays)),
        windows(layout.span, layout.every) {
    std::vector<ArrayMask> masks = open_all();
    points_in_window = options.points_are_samples ? layout.extents.front().points() : 1;
    shape = shape_of_samples(layout, windows.windows(), points_in_window, name);
    if (!options.points_are_samples && !layout.grid.empty()) {
      grid = layout.grid;
      grid.push_back(inputs.count());
    }
    for (const OpenArray& array : files.open(0).arrays) {
      reports.push_back({array.array().path(), {}, array.array().facts()});
      reports.back().facts.type = array.conversion().type;
      for (const SlicedAxis& axis : array.axes()) reports.back().axes.push_back(axis.name);
    }
    std::vector<SlabPlan> plans = plan_slabs(layout, options, files.open(0).arrays);
    block = samples_of_block(plans, layout, files.open(0).arrays, points_in_window, shape);
    keep_block(plans, layout, (block + points_in_window - 1) / points_in_window);
    cache.emplace(files, std::move(plans), std::move(masks));
  }

  /// Calls use(file, array, number) of an array; the number is none if it is no part of samples.
  template <class Use>
  auto with_array(std::int64_t file, const std::string& path, const Use& use) {
    const std::lock_guard lock(mutex);
    const OpenArrayFile& opened = files.open(file);
    const auto found =
        static_cast<std::size_t>(std::ranges::find(files.arrays(), path) - files.arrays().begin());
    if (found < opened.arrays.size()) return use(opened.file, opened.arrays[found], std::optional(found));
    if (!opened.file.exists(path))
      fail_input(errors::data_mismatch, "{}: has no array {}", opened.file.path(), path);
    const OpenArray other(opened.file, path, options, files.grid());
    if (other.extents().grid != layout.grid)
      fail_input(errors::data_mismatch, "{}: array {} is on another grid", opened.file.path(), path);
    return use(opened.file, other, std::optional<std::size_t>());
  }

  /// The inputs of samples, or their targets.
  struct Channels {
    const std::vector<ChannelSource>& sources;
    std::vector<std::string>& names;  // in reading order
    ColumnOrder order = {};           // empty: as in the layout
    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(names.size()); }
  };

  /// Writes the channels of samples [first, first + count).
  void read(const Channels& of, std::int64_t first, std::int64_t count, float* to) {
    const std::lock_guard lock(mutex);
    const std::int64_t channels = of.count();
    if (!options.points_are_samples) {
      const std::int64_t points = layout.rollout.points;
      for (std::int64_t i = 0; i < count; ++i, to += points * channels) {
        copy_points(*cache, of.sources, layout, windows.position_of(first + i), 0, points, channels, to);
        put_channels_in_order(of.order, points, to);
      }
      return;
    }
    while (count > 0) {
      const std::int64_t point = first % points_in_window;
      const std::int64_t points = std::min(count, points_in_window - point);
      copy_points(*cache, of.sources, layout, windows.position_of(first / points_in_window), point, points,
                  channels, to);
      put_channels_in_order(of.order, points, to);
      first += points;
      count -= points;
      to += points * channels;
    }
  }

  std::string location_of(const Channels& of, std::int64_t sample, std::int64_t column) {
    const std::lock_guard lock(mutex);
    std::int64_t channel = column % of.count();
    if (!of.order.empty()) channel = of.order[static_cast<std::size_t>(channel)];
    const std::int64_t point = options.points_are_samples ? sample % points_in_window : column / of.count();
    const WindowIndex::Position window = windows.position_of(sample / points_in_window);
    const auto source = std::ranges::find_if(of.sources, [&](const ChannelSource& each) {
      return channel >= each.first && channel < each.first + each.count;
    });
    const OpenArray& array = files.open(window.file).arrays[source->array];
    const bool constant = layout.is_constant(source->array);
    return array.location(constant ? 0 : window.trajectory, constant ? 0 : window.level + source->level,
                          layout.own_point(source->array, point), channel - source->first);
  }

  /// Makes the pass over all values, or takes its results from the file of data.statistics. The caller holds
  /// the lock.
  const Survey& survey(RankGroup& ranks) {
    if (!surveyed)
      surveyed = kept_survey(options.statistics, statistics_key, {layout, windows, *cache}, ranks);
    return *surveyed;
  }
  const Survey& survey() {
    RankGroup alone;
    return survey(alone);
  }

  /// Returns the statistics of the channels, in reading order.
  ColumnStatistics statistics(const Channels& of, Split part) {
    const std::lock_guard lock(mutex);
    const std::int64_t first = part.first / points_in_window;
    const std::int64_t end = (part.first + part.count + points_in_window - 1) / points_in_window;
    const ArraySums sums = sums_of({layout, windows, *cache}, survey(), first, end - first);
    return statistics_of(sums, of.sources, of.order);
  }

  ArrayOptions options;
  std::string name;
  std::mutex mutex;  // guards files, cache and surveyed
  FileTable files;
  SampleLayout layout;
  WindowIndex windows;
  std::optional<LevelCache> cache;
  std::optional<Survey> surveyed;
  std::vector<ArrayReport> reports;
  DatasetShape shape;
  std::vector<std::int64_t> grid;
  StoredCoordinates coordinates;
  Channels inputs{layout.inputs, layout.input_names};
  Channels targets{layout.targets, layout.target_names};
  std::int64_t points_in_window = 1;  // samples of a window
  std::int64_t block = 1;             // samples of a block
  std::string metadata;               // digest
  std::string statistics_key;         // digest, with sizes and times

 private:
  /// Opens each file once: checks it against the first and counts its windows. Returns the masks.
  std::vector<ArrayMask> open_all() {
    std::vector<ArrayMask> masks = masks_in(files.open(0).file, files.open(0).arrays, options, files.grid());
    Xxh128 digest;
    Xxh128 stamps;
    const std::string text = text_of_options(options);
    digest.update(text.data(), text.size());
    for (std::int64_t i = 0; i < files.size(); ++i) {
      const OpenArrayFile& file = files.open(i);
      const std::string& path = files.paths()[static_cast<std::size_t>(i)];
      if (i > 0) {
        require_same_extents(layout, files.paths().front(), file.arrays);
        require_same_arrays_of_masks(masks, files.paths().front(), file.file, file.arrays, options,
                                     files.grid());
      }
      const std::vector<LevelRun> runs = coordinates.add(files, file, path, options);
      for (std::size_t j = 0; j < file.arrays.size(); ++j)
        if (!file.arrays[j].is_exact_in_float())
          layout.exact_in_float[j] = false;  // each may be packed its own way
      const StoredExtents& extents = file.arrays.front().extents();
      windows.add_file(extents.trajectories, extents.levels, runs);
      if (windows.windows_in(i) == 0)
        refuse_too_short(layout, options, extents.levels, runs.size() > 1, path);
      add_metadata(digest, path, file.arrays);
      const std::string stamp = fmt::format("{} {}\n", files.stamp(i).bytes, files.stamp(i).changed_ns);
      stamps.update(stamp.data(), stamp.size());
    }
    for (const ArrayMask& each : masks) digest.update(each.counts.data(), each.counts.size());
    metadata = digest.digest();
    statistics_key = statistics_key_of(metadata + ' ' + stamps.digest(), options, layout);
    return masks;
  }
};

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
                            channels.order);
  };
  return {of(state_->inputs), of(state_->targets)};
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
  return state.cache->memory_bytes() + state.files.memory_bytes() + state.windows.memory_bytes();
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
