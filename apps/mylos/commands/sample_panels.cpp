#include "commands/sample_panels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "mylos/base/errors/text.hpp"
#include "mylos/inference/rollout/map_orientation.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "tables/sample_picture.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t max_panels = 24;  // of inputs, and of targets

/// "u" of "u(t-1)": the levels of an array share their colours.
std::string scale_of(const std::string& name) {
  return name.substr(0, name.find('('));
}

/// The extents without the channels; all values are one curve if there is no grid.
std::vector<std::int64_t> extents_of(const std::vector<std::int64_t>& grid, std::int64_t values,
                                     std::int64_t& channels) {
  channels = 1;
  if (grid.size() < 2) return {values};
  std::vector<std::int64_t> extents(grid.begin(), grid.end() - 1);
  std::int64_t points = 1;
  for (const std::int64_t extent : extents) points *= extent;
  if (points == 0 || values % points != 0) return {values};
  channels = values / points;
  return extents;
}

/// The channels of `values`, which lie next to each other at every point.
PanelRow row_of(std::string heading, const std::vector<float>& values, const std::vector<std::int64_t>& grid,
                const std::vector<std::string>& names, const std::vector<bool>& changes, bool upward) {
  std::int64_t channels = 1;
  const std::vector<std::int64_t> extents =
      extents_of(grid, static_cast<std::int64_t>(values.size()), channels);
  PanelRow row;
  for (std::int64_t channel = 0; channel < std::min(channels, max_panels); ++channel) {
    const auto i = static_cast<std::size_t>(channel);
    const bool is_named = names.size() == static_cast<std::size_t>(channels);
    Panel panel{.title = is_named        ? printable(names[i])
                         : channels == 1 ? heading
                                         : fmt::format("channel {}", channel),
                .scale = std::string(i < changes.size() && changes[i] ? "change of " : "") +
                         (is_named ? scale_of(names[i]) : ""),
                .extents = extents,
                .values = {},
                .upward = upward};
    for (std::size_t at = i; at < values.size(); at += static_cast<std::size_t>(channels))
      panel.values.push_back(values[at]);
    row.panels.push_back(std::move(panel));
  }
  row.heading = channels > max_panels
                    ? fmt::format("{} (the first {} of {} channels)", heading, max_panels, channels)
                    : std::move(heading);
  return row;
}

std::vector<float> inputs_of(const SampleStore& store, std::int64_t sample) {
  std::vector<float> values(static_cast<std::size_t>(store.features()));
  if (store.shape().input_type == DType::fp32) {
    store.read_inputs(sample, 1, values.data());
    return values;
  }
  std::vector<std::uint8_t> stored(values.size());
  store.read_inputs(sample, 1, stored.data());
  std::ranges::copy(stored, values.begin());
  return values;
}

/// Numbers that stand for nothing are not drawn.
std::vector<float> without_masked(std::vector<float> values, const std::vector<std::uint8_t>& mask) {
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] == 0) values[i] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

}  // namespace

std::string write_sample_picture(const SampleStore& store, const std::vector<std::int64_t>& grid,
                                 std::int64_t sample, const std::string& path) {
  const auto* arrays = dynamic_cast<const ArrayStore*>(&store);
  const bool upward = arrays != nullptr && rows_run_north(*arrays);
  const SampleMask mask = store.mask();
  std::vector<PanelRow> rows{row_of("inputs", without_masked(inputs_of(store, sample), mask.inputs), grid,
                                    store.input_names(), {}, upward)};
  std::string label;
  if (store.task() == Task::regression) {
    std::vector<bool> changes;  // of each channel
    for (const std::string& array : arrays == nullptr ? std::vector<std::string>() : arrays->target_arrays())
      changes.push_back(arrays->options().is_difference(array));
    std::vector<float> targets(static_cast<std::size_t>(store.outputs()));
    store.read_targets(sample, 1, targets.data());
    rows.push_back(row_of("targets", without_masked(std::move(targets), mask.targets), grid,
                          store.target_names(), changes, upward));
  } else if (store.task() == Task::classification) {
    std::int32_t class_of_sample = 0;
    store.read_labels(sample, 1, &class_of_sample);
    label = fmt::format(", class {}", class_of_sample);
  }
  publish_text(path, path.ends_with(".svg") ? svg_of(rows) : png_of(rows));
  std::string text = fmt::format("{}: sample {}{}; from left to right, dark is low and light is high:\n",
                                 path, sample, label);
  for (const PanelRow& row : rows) {
    std::vector<std::string> titles;
    for (const Panel& panel : row.panels) titles.push_back(panel.title);
    text += fmt::format("  {}: {}\n", row.heading, fmt::join(titles, ", "));
  }
  for (const ColourRange& range : colour_ranges(rows)) {
    text += fmt::format("  {}from {:.6g} to {:.6g}\n",
                        range.scale.empty() ? "" : printable(range.scale) + ": ", range.low, range.high);
  }
  return text;
}

}  // namespace mylos::app
