#include "mylos/data/files/scaling/normalizer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {
namespace {

/// Returns the divisor of a column.
double width_of(Normalize method, const ColumnStatistics& statistics, std::size_t column) {
  return method == Normalize::minmax ? statistics.maximum[column] - statistics.minimum[column]
                                     : statistics.deviation[column];
}

bool is_constant(Normalize method, const ColumnStatistics& statistics, std::size_t column) {
  const double largest = std::max(std::abs(statistics.minimum[column]), std::abs(statistics.maximum[column]));
  const double noise = std::numeric_limits<float>::epsilon() * largest;
  return !(width_of(method, statistics, column) > noise);
}

/// The normalised columns, for messages.
struct Columns {
  const char* what;                       // "inputs"
  const char* one;                        // "column", "channel"
  const std::vector<std::string>& names;  // used if there is one per column
};

/// Returns "train.h5: 3 of 8 inputs are constant in the training samples (columns 0, 2, 5, counted from 0)
/// ...", or the names of the columns.
std::string describe_constant(const std::string& path, const Columns& columns, std::size_t count,
                              const std::vector<std::size_t>& constant) {
  constexpr std::size_t max_named = 5;
  const bool one = constant.size() == 1;
  const bool by_name = columns.names.size() == count;
  std::vector<std::string> first;
  for (std::size_t i = 0; i < std::min(max_named, constant.size()); ++i)
    first.push_back(by_name ? printable(columns.names[constant[i]]) : std::to_string(constant[i]));
  return fmt::format(
      "{}: {} of {} {} {} constant in the training samples ({}{}{}{}); data.normalize turns {} into 0", path,
      constant.size(), count, columns.what, one ? "is" : "are",
      by_name ? "" : fmt::format("{}{} ", columns.one, one ? "" : "s"), fmt::join(first, ", "),
      first.size() < constant.size() ? ", ..." : "", by_name ? "" : ", counted from 0", one ? "it" : "them");
}

/// Returns whether a range of inputs is recorded. Bytes always have the full range.
bool has_range(Normalize method, const SampleStore& store) {
  return store.shape().input_type == DType::fp32 &&
         (method != Normalize::none || store.prepared_input_statistics());
}

bool is_on_grid(const SampleStore& store, std::int64_t channels) {
  return channels > 0 && store.features() % channels == 0;
}

/// Returns the scaling of each column from that of its channel.
ColumnScaling for_every_point(const ColumnScaling& of_channels, std::int64_t columns) {
  const std::size_t channels = of_channels.shift.size();
  ColumnScaling scaling;
  for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
    scaling.shift.push_back(of_channels.shift[i % channels]);
    scaling.scale.push_back(of_channels.scale[i % channels]);
  }
  return scaling;
}

/// Makes columns that stand for nothing 0.
void leave_out(const std::vector<std::uint8_t>& mask, ColumnScaling& scaling) {
  if (mask.empty()) return;
  if (scaling.identity()) {
    scaling.shift.assign(mask.size(), 0.0);
    scaling.scale.assign(mask.size(), 1.0);
  }
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) continue;
    scaling.shift[i] = 0;
    scaling.scale[i] = 0;
  }
}

/// Returns the normalizer as if all numbers counted.
Normalizer scaling_all(Normalize method, const SampleStore& store, Split training_samples,
                       const std::function<void(const std::string&)>& note, std::int64_t channels,
                       const Places& places, bool normalizes_targets, bool targets_on_grid,
                       const GivenScalings& given) {
  Normalizer normalizer;
  const bool has_channels = store.has_channel_statistics();
  const bool by_channel = method == Normalize::channel || has_channels;
  const bool on_grid = is_on_grid(store, channels);
  if (by_channel && !on_grid && !has_channels) {
    fail_input(errors::missing_dataset,
               "{}{}: has no attribute 'shape' of /, the grid of its samples, which data.normalize = "
               "\"channel\" needs; "
               "{}",
               place_of(places, {"data.normalize"}), store.path(), how_to_give_a_grid);
  }
  const auto take_range = [&](const ColumnStatistics& of_columns) {
    const ColumnStatistics of =
        on_grid && !has_channels ? channel_statistics(of_columns, channels) : of_columns;
    normalizer.input_range = {of.minimum, of.maximum};
  };
  if (method == Normalize::none) {
    if (has_range(method, store)) take_range(*store.prepared_input_statistics());
    return normalizer;
  }
  const auto scaling = [&](const Columns& columns, const ColumnStatistics& statistics,
                           double constant_scale) {
    const std::vector<std::size_t> constant = constant_columns(method, statistics);
    if (note && !constant.empty())
      note(describe_constant(store.path(), columns, statistics.mean.size(), constant));
    return scaling_for(method, statistics, constant_scale);
  };
  const auto input_scaling = [&](const ColumnStatistics& inputs) {
    const Columns of_channels{"channels", "channel", store.input_names()};
    if (has_channels) return for_every_point(scaling(of_channels, inputs, 0), store.features());
    if (by_channel)
      return for_every_point(scaling(of_channels, channel_statistics(inputs, channels), 0), store.features());
    return scaling({"inputs", "column", store.input_names()}, inputs, 0);
  };
  const ColumnStatistics inputs = store.input_statistics(training_samples);
  if (has_range(method, store)) take_range(inputs);
  normalizer.inputs = given.inputs ? *given.inputs : input_scaling(inputs);
  if (!normalizes_targets || store.task() != Task::regression) return normalizer;
  if (given.targets) {
    normalizer.targets = *given.targets;
    return normalizer;
  }
  const ColumnStatistics targets = store.target_statistics(training_samples);
  const std::int64_t points = on_grid ? store.features() / channels : 1;
  const Columns channels_of_targets{"channels of the targets", "channel", store.target_names()};
  if (has_channels) {
    normalizer.targets = for_every_point(scaling(channels_of_targets, targets, 1), store.outputs());
  } else if (by_channel && targets_on_grid && store.outputs() % points == 0) {
    const ColumnStatistics pooled = channel_statistics(targets, store.outputs() / points);
    normalizer.targets = for_every_point(scaling(channels_of_targets, pooled, 1), store.outputs());
  } else {
    normalizer.targets = scaling({"targets", "column", store.target_names()}, targets, 1);
  }
  return normalizer;
}

}  // namespace

ColumnStatistics channel_statistics(const ColumnStatistics& columns, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  const std::size_t size = columns.mean.size();
  const double points = static_cast<double>(size) / static_cast<double>(channels);
  ColumnStatistics pooled{std::vector<double>(count), std::vector<double>(count),
                          std::vector<double>(columns.minimum.begin(), columns.minimum.begin() + channels),
                          std::vector<double>(columns.maximum.begin(), columns.maximum.begin() + channels)};
  for (std::size_t i = 0; i < size; ++i) pooled.mean[i % count] += columns.mean[i] / points;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t channel = i % count;
    const double difference = columns.mean[i] - pooled.mean[channel];
    pooled.deviation[channel] +=
        (columns.deviation[i] * columns.deviation[i] + difference * difference) / points;
    pooled.minimum[channel] = std::min(pooled.minimum[channel], columns.minimum[i]);
    pooled.maximum[channel] = std::max(pooled.maximum[channel], columns.maximum[i]);
  }
  for (double& deviation : pooled.deviation) deviation = std::sqrt(deviation);
  return pooled;
}

ColumnScaling scaling_for(Normalize method, const ColumnStatistics& statistics, double constant_scale) {
  if (method == Normalize::none) return {};
  const std::size_t columns = statistics.mean.size();
  ColumnScaling scaling{std::vector<double>(columns), std::vector<double>(columns)};
  for (std::size_t i = 0; i < columns; ++i) {
    scaling.shift[i] = method == Normalize::minmax ? statistics.minimum[i] : statistics.mean[i];
    scaling.scale[i] =
        is_constant(method, statistics, i) ? constant_scale : 1 / width_of(method, statistics, i);
  }
  return scaling;
}

std::vector<std::size_t> constant_columns(Normalize method, const ColumnStatistics& statistics) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < statistics.mean.size(); ++i) {
    if (is_constant(method, statistics, i)) columns.push_back(i);
  }
  return columns;
}

void ColumnScaling::apply(std::span<const float> from, std::span<float> to) const {
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i] = identity() ? from[i] : static_cast<float>(normalised(from[i], i % shift.size()));
}

void Normalizer::undo_targets(std::span<float> predictions) const {
  const std::size_t columns = targets.shift.size();
  if (columns == 0) return;
  for (std::size_t row = 0; row + columns <= predictions.size(); row += columns) {
    for (std::size_t i = 0; i < columns; ++i) {
      const auto normalised = static_cast<double>(predictions[row + i]);
      predictions[row + i] = static_cast<float>(normalised / targets.scale[i] + targets.shift[i]);
    }
  }
}

void Normalizer::undo_deviations(std::span<float> deviations) const {
  const std::size_t columns = targets.scale.size();
  if (columns == 0) return;
  for (std::size_t i = 0; i < deviations.size(); ++i)
    deviations[i] = static_cast<float>(static_cast<double>(deviations[i]) / targets.scale[i % columns]);
}

bool InputRange::known() const {
  const auto are_finite = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  };
  return !minimum.empty() && are_finite(minimum) && are_finite(maximum);
}

Normalizer normalizer_for(Normalize method, const SampleStore& store, Split training_samples,
                          const std::function<void(const std::string&)>& note, std::int64_t channels,
                          const Places& places, bool normalizes_targets, bool targets_on_grid,
                          const GivenScalings& given) {
  Normalizer normalizer = scaling_all(method, store, training_samples, note, channels, places,
                                      normalizes_targets, targets_on_grid, given);
  leave_out(store.mask().inputs, normalizer.inputs);
  return normalizer;
}

Normalizer room_for_normalizer(Normalize method, const SampleStore& store, std::int64_t channels,
                               bool normalizes_targets) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Normalizer normalizer;
  if (has_range(method, store)) {
    const auto size = static_cast<std::size_t>(is_on_grid(store, channels) ? channels : store.features());
    normalizer.input_range = {std::vector<double>(size, -infinite), std::vector<double>(size, infinite)};
  }
  const auto room = [](ColumnScaling& scaling, std::int64_t columns) {
    scaling.shift.resize(static_cast<std::size_t>(columns));
    scaling.scale.resize(static_cast<std::size_t>(columns));
  };
  if (method != Normalize::none || !store.mask().inputs.empty()) room(normalizer.inputs, store.features());
  if (method == Normalize::none) return normalizer;
  if (normalizes_targets && store.task() == Task::regression) room(normalizer.targets, store.outputs());
  return normalizer;
}

}  // namespace mylos
