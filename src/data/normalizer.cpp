#include "mylos/data/normalizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/data/dataset.hpp"

namespace mylos {
namespace {

/// What a column is divided by.
double width_of(Normalize method, const ColumnStatistics& statistics, std::size_t column) {
  return method == Normalize::standard ? statistics.deviation[column]
                                       : statistics.maximum[column] - statistics.minimum[column];
}

bool is_constant(Normalize method, const ColumnStatistics& statistics, std::size_t column) {
  const double largest = std::max(std::abs(statistics.minimum[column]), std::abs(statistics.maximum[column]));
  const double noise = std::numeric_limits<float>::epsilon() * largest;
  return !(width_of(method, statistics, column) > noise);
}

/// "train.h5: 3 of 8 inputs are constant in the training samples (columns 0, 2, 5, counted from 0) ..."
std::string describe_constant(const std::string& path, const char* what, std::size_t columns,
                              const std::vector<std::size_t>& constant) {
  constexpr std::size_t most_named = 5;
  const auto named = std::min(most_named, constant.size());
  const bool one = constant.size() == 1;
  const std::vector<std::size_t> first(constant.begin(),
                                       constant.begin() + static_cast<std::ptrdiff_t>(named));
  return fmt::format(
      "{}: {} of {} {} {} constant in the training samples (column{} {}{}, counted from 0); data.normalize "
      "turns {} into 0",
      path, constant.size(), columns, what, one ? "is" : "are", one ? "" : "s", fmt::join(first, ", "),
      named < constant.size() ? ", ..." : "", one ? "it" : "them");
}

}  // namespace

ColumnScaling scaling_for(Normalize method, const ColumnStatistics& statistics, double constant_scale) {
  if (method == Normalize::none) return {};
  const std::size_t columns = statistics.mean.size();
  ColumnScaling scaling{std::vector<double>(columns), std::vector<double>(columns)};
  for (std::size_t i = 0; i < columns; ++i) {
    scaling.shift[i] = method == Normalize::standard ? statistics.mean[i] : statistics.minimum[i];
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
                          const std::function<void(const std::string&)>& note) {
  Normalizer normalizer;
  if (method == Normalize::none) return normalizer;
  const auto scaling = [&](const char* what, const ColumnStatistics& statistics, double constant_scale) {
    const std::vector<std::size_t> constant = constant_columns(method, statistics);
    if (note && !constant.empty()) {
      note(describe_constant(file.path(), what, statistics.mean.size(), constant));
    }
    return scaling_for(method, statistics, constant_scale);
  };
  normalizer.inputs = scaling("inputs", file.input_statistics(training_samples), 0);
  if (file.task() == Task::regression) {
    normalizer.targets = scaling("targets", file.target_statistics(training_samples), 1);
  }
  return normalizer;
}

Normalizer room_for_normalizer(Normalize method, const DatasetShape& shape) {
  Normalizer normalizer;
  if (method == Normalize::none) return normalizer;
  const auto room = [](ColumnScaling& scaling, std::int64_t columns) {
    scaling.shift.resize(static_cast<std::size_t>(columns));
    scaling.scale.resize(static_cast<std::size_t>(columns));
  };
  room(normalizer.inputs, shape.features);
  if (shape.task == Task::regression) room(normalizer.targets, shape.outputs);
  return normalizer;
}

}  // namespace mylos
