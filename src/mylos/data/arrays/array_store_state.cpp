#include "mylos/data/arrays/array_store_state.hpp"

#include <fmt/ranges.h>

#include "mylos/base/errors/internal.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/data/arrays/files/metadata_digest.hpp"
#include "mylos/data/arrays/layout/layout_of_box.hpp"
#include "mylos/data/arrays/sample_reader.hpp"
#include "mylos/data/arrays/survey/channel_statistics.hpp"
#include "mylos/data/arrays/survey/statistics_file.hpp"
#include "mylos/data/options.hpp"

namespace mylos {

ArrayStore::State::State(std::vector<std::string> paths, const ArrayOptions& given, std::int64_t steps,
                         GroundTruth truth, std::vector<std::string> grid_axes)
    : options(with_available_targets(paths.front(), given, truth)),
      missing{options.any_may_be_missing(options.inputs), options.any_may_be_missing(options.targets)},
      name(DataFiles(paths).text()),
      files(std::move(paths), arrays_of(options), options,
            grid_axes.empty() ? grid_axes_of(options) : std::move(grid_axes)),
      layout(sample_layout(options, steps, files.open(0).arrays)),
      windows(layout.span, layout.every) {
  std::vector<ArrayMask> masks = open_all();
  encoder = Encoder(layout.encoded, coordinates.axes, layout.grid, files.paths().front());
  if (!layout.known.empty())
    known_mask = mask_of_channels(masks, layout.inputs, layout.rollout.points, inputs.count(), {});
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
  make_cache(std::move(plans), std::move(masks));
}

ArrayStore::State::State(const State& whole, const GridPart& part)
    : options(whole.options),
      missing(whole.missing),
      name(whole.name),
      files(whole.files, part),
      layout(layout_of_box(whole.layout, part)),
      windows(whole.windows),
      reports(whole.reports),
      shape(whole.shape),
      grid(layout.grid),
      coordinates(whole.coordinates),
      block(whole.block) {
  const GridBox box = box_of(part, whole.layout.grid, name);
  grid.push_back(whole.inputs.count());
  inputs.order = whole.inputs.order;
  targets.order = whole.targets.order;
  shape.features = layout.rollout.points * inputs.count();
  shape.outputs = layout.rollout.points * targets.count();
  for (GridAxis& axis : coordinates.axes) {
    const std::vector<std::string>& names = files.grid().axes;
    const auto k = static_cast<std::size_t>(std::ranges::find(names, axis.name) - names.begin());
    if (k == names.size() || axis.values.empty()) continue;
    const AxisBox along = box_of_axis(part, k, names.size(), std::ssize(axis.values));
    axis.values = {axis.values.begin() + along.first, axis.values.begin() + along.first + along.count};
  }
  encoder = Encoder(layout.encoded, coordinates.axes, layout.grid, files.paths().front());
  std::vector<ArrayMask> masks = whole.cache->masks();
  for (ArrayMask& mask : masks) mask.counts = cut(mask.counts, box);
  if (!layout.known.empty())
    known_mask = mask_of_channels(masks, layout.inputs, layout.rollout.points, inputs.count(), {});
  make_cache(plan_slabs(layout, options, files.open(0).arrays), std::move(masks));
}

void ArrayStore::State::make_cache(std::vector<SlabPlan> plans, std::vector<ArrayMask> masks) {
  keep_block(plans, layout, (block + points_in_window - 1) / points_in_window);
  cache.emplace(files, std::move(plans), std::move(masks));
}

void ArrayStore::State::read_points(const Channels& of, const WindowIndex::Position& window,
                                    std::int64_t first, std::int64_t count, float* to) {
  constexpr double no_step = 0;  // levels of windows are those of files
  copy_points(*cache, of.sources, layout, window, first, count, of.count(), to);
  if (&of == &inputs) {
    write_known(layout.known, known_mask, first, count, of.count(), to);
    encoder.write(coordinates.times[static_cast<std::size_t>(window.file)], window.level, no_step, first,
                  count, of.count(), to);
  }
  put_channels_in_order(of.order, count, to);
}

void ArrayStore::State::read(const Channels& of, std::int64_t first, std::int64_t count, float* to) {
  const std::lock_guard lock(mutex);
  const std::int64_t channels = of.count();
  if (!options.points_are_samples) {
    const std::int64_t points = layout.rollout.points;
    for (std::int64_t i = 0; i < count; ++i, to += points * channels)
      read_points(of, windows.position_of(first + i), 0, points, to);
    return;
  }
  while (count > 0) {
    const std::int64_t point = first % points_in_window;
    const std::int64_t points = std::min(count, points_in_window - point);
    read_points(of, windows.position_of(first / points_in_window), point, points, to);
    first += points;
    count -= points;
    to += points * channels;
  }
}

std::string ArrayStore::State::location_of(const Channels& of, std::int64_t sample, std::int64_t column) {
  const std::lock_guard lock(mutex);
  std::int64_t channel = column % of.count();
  if (!of.order.empty()) channel = of.order[static_cast<std::size_t>(channel)];
  const std::int64_t point = options.points_are_samples ? sample % points_in_window : column / of.count();
  const WindowIndex::Position window = windows.position_of(sample / points_in_window);
  const auto source = std::ranges::find_if(of.sources, [&](const ChannelSource& each) {
    return channel >= each.first && channel < each.first + each.count;
  });
  if (source == of.sources.end()) {
    const std::string& path = files.paths()[static_cast<std::size_t>(window.file)];
    return fmt::format("{}: {}", path, layout.input_names[static_cast<std::size_t>(channel)]);
  }
  const OpenArray& array = files.open(window.file).arrays[source->array];
  const bool constant = layout.is_constant(source->array);
  return array.location(constant ? 0 : window.trajectory, constant ? 0 : window.level + source->level,
                        layout.own_point(source->array, point), channel - source->first);
}

const Survey& ArrayStore::State::survey(RankGroup& ranks) {
  if (files.grid().part.is_split())
    fail_run(errors::internal, "{}: the store of the whole samples has their statistics and identity", name);
  if (!surveyed) surveyed = kept_survey(options.statistics, statistics_key, {layout, windows, *cache}, ranks);
  return *surveyed;
}
const Survey& ArrayStore::State::survey() {
  RankGroup alone;
  return survey(alone);
}

ColumnStatistics ArrayStore::State::statistics(const Channels& of, Split part) {
  const std::lock_guard lock(mutex);
  const std::int64_t first = part.first / points_in_window;
  const std::int64_t end = (part.first + part.count + points_in_window - 1) / points_in_window;
  const ArraySums sums = sums_of({layout, windows, *cache}, survey(), first, end - first);
  require_known(sums, of.sources, layout.arrays, name);
  return statistics_of(sums, of.sources, &of == &inputs ? layout.known : std::vector<KnownSource>(),
                       of.count(), of.order);
}

std::vector<ArrayMask> ArrayStore::State::open_all() {
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
    require_times(options.encodings, coordinates.times.back(), path);
    if (layout.rollout.encoded > 0)
      digest.update(coordinates.times.back().instants.data(),
                    coordinates.times.back().instants.size() * sizeof(Instant));
    for (std::size_t j = 0; j < file.arrays.size(); ++j)
      if (!file.arrays[j].is_exact_in_float())
        layout.exact_in_float[j] = false;  // each may be packed its own way
    const StoredExtents& extents = file.arrays.front().extents();
    windows.add_file(extents.trajectories, extents.levels, runs);
    if (windows.windows_in(i) == 0) refuse_too_short(layout, options, extents.levels, runs.size() > 1, path);
    add_metadata(digest, path, file.arrays);
    const std::string stamp = fmt::format("{} {}\n", files.stamp(i).bytes, files.stamp(i).changed_ns);
    stamps.update(stamp.data(), stamp.size());
  }
  if (encodes_places(options)) {
    const std::string places = text_of_axes(of_grid(coordinates.axes));
    digest.update(places.data(), places.size());
  }
  for (const ArrayMask& each : masks) digest.update(each.counts.data(), each.counts.size());
  metadata = digest.digest();
  statistics_key = statistics_key_of(metadata + ' ' + stamps.digest(), options, layout);
  return masks;
}

}  // namespace mylos
