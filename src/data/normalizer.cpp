#include "mylos/data/normalizer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/data/dataset.hpp"

namespace mylos {
namespace {

/// What a column is divided by.
double width_of(Normalize method, const ColumnStatistics& statistics, std::size_t column) {
  return method == Normalize::minmax ? statistics.maximum[column] - statistics.minimum[column]
                                     : statistics.deviation[column];
}

bool is_constant(Normalize method, const ColumnStatistics& statistics, std::size_t column) {
  const double largest = std::max(std::abs(statistics.minimum[column]), std::abs(statistics.maximum[column]));
  const double noise = std::numeric_limits<float>::epsilon() * largest;
  return !(width_of(method, statistics, column) > noise);
}

/// "train.h5: 3 of 8 inputs are constant in the training samples (columns 0, 2, 5, counted from 0) ..."
std::string describe_constant(const std::string& path, const char* what, std::size_t columns,
                              const std::vector<std::size_t>& constant, const char* column) {
  constexpr std::size_t most_named = 5;
  const auto named = std::min(most_named, constant.size());
  const bool one = constant.size() == 1;
  const std::vector<std::size_t> first(constant.begin(),
                                       constant.begin() + static_cast<std::ptrdiff_t>(named));
  return fmt::format(
      "{}: {} of {} {} {} constant in the training samples ({}{} {}{}, counted from 0); data.normalize "
      "turns {} into 0",
      path, constant.size(), columns, what, one ? "is" : "are", column, one ? "" : "s",
      fmt::join(first, ", "), named < constant.size() ? ", ..." : "", one ? "it" : "them");
}

/// What each channel's columns have in common.
ColumnScaling for_every_point(const ColumnScaling& of_channels, std::int64_t columns) {
  const std::size_t channels = of_channels.shift.size();
  ColumnScaling scaling;
  for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
    scaling.shift.push_back(of_channels.shift[i % channels]);
    scaling.scale.push_back(of_channels.scale[i % channels]);
  }
  return scaling;
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

Normalizer normalizer_for(Normalize method, const Dataset& file, Split training_samples,
                          const std::function<void(const std::string&)>& note, std::int64_t channels,
                          const Places& places, bool normalizes_targets) {
  Normalizer normalizer;
  if (method == Normalize::none) return normalizer;
  const bool by_channel = method == Normalize::channel;
  if (by_channel && (channels < 1 || file.features() % channels != 0)) {
    fail_input(
        "{}{}: says of no grid on which its samples lie (an attribute 'shape' of /), and data.normalize = "
        "\"channel\" goes by its channels; {}",
        place_of(places, {"data.normalize"}), file.path(), how_to_give_a_grid);
  }
  const auto scaling = [&](const char* what, const ColumnStatistics& statistics, double constant_scale,
                           const char* column = "column") {
    const std::vector<std::size_t> constant = constant_columns(method, statistics);
    if (note && !constant.empty()) {
      note(describe_constant(file.path(), what, statistics.mean.size(), constant, column));
    }
    return scaling_for(method, statistics, constant_scale);
  };
  const ColumnStatistics inputs = file.input_statistics(training_samples);
  normalizer.inputs =
      by_channel ? for_every_point(scaling("channels", channel_statistics(inputs, channels), 0, "channel"),
                                   file.features())
                 : scaling("inputs", inputs, 0);
  if (normalizes_targets && file.task() == Task::regression) {
    normalizer.targets = scaling("targets", file.target_statistics(training_samples), 1);
  }
  return normalizer;
}

Normalizer room_for_normalizer(Normalize method, const DatasetShape& shape, bool normalizes_targets) {
  Normalizer normalizer;
  if (method == Normalize::none) return normalizer;
  const auto room = [](ColumnScaling& scaling, std::int64_t columns) {
    scaling.shift.resize(static_cast<std::size_t>(columns));
    scaling.scale.resize(static_cast<std::size_t>(columns));
  };
  room(normalizer.inputs, shape.features);
  if (normalizes_targets && shape.task == Task::regression) room(normalizer.targets, shape.outputs);
  return normalizer;
}

}  // namespace mylos
