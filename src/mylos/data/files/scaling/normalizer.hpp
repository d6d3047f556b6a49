// Normalizer: scales inputs, and the targets of a regression, to a common magnitude. It is undone on a
// network's predictions.
//
// normalised = (value - shift) * scale, for each column. "standard": shift = mean, scale = 1 / standard
// deviation; "minmax": to [0, 1]; both from the training samples. "channel": for samples on a grid, mean and
// deviation of a channel over all its points in all samples; also for targets if the network's outputs lie on
// the grid. A column that is constant in the training samples has scale 1. Inputs
// that a mask leaves out have scale 0: the network reads 0 whatever they are. The computation is in double:
// the inverse of a small spread, or a difference of large values, may exceed float. The state is part of the
// checkpoint, so that training, evaluation and prediction apply the same numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/data/files/scaling/statistics.hpp"
#include "mylos/data/options.hpp"

namespace mylos {

/// Empty vectors: values are not changed.
struct ColumnScaling {
  std::vector<double> shift;
  std::vector<double> scale;

  [[nodiscard]] bool identity() const { return shift.empty(); }
  [[nodiscard]] double normalised(float value, std::size_t column) const {
    return (static_cast<double>(value) - shift[column]) * scale[column];
  }
  /// Writes the normalised values of rows [rows, columns] to `to`, which may be `from`.
  void apply(std::span<const float> from, std::span<float> to) const;
  friend bool operator==(const ColumnScaling&, const ColumnScaling&) = default;
};

/// `constant_scale` is the scale of constant columns: 0 for inputs, which then carry no information; 1 for
/// targets, because undo_targets() divides by it.
[[nodiscard]] ColumnScaling scaling_for(Normalize method, const ColumnStatistics& statistics,
                                        double constant_scale = 0);

/// Returns the columns, counted from 0, whose spread is at most rounding noise of float at the magnitude of
/// their values.
[[nodiscard]] std::vector<std::size_t> constant_columns(Normalize method, const ColumnStatistics& statistics);

/// The minimum and maximum input of the training samples: of each column, or of each channel of samples on a
/// grid (channels last). Empty, or infinite, if not known.
struct InputRange {
  std::vector<double> minimum;
  std::vector<double> maximum;

  [[nodiscard]] bool known() const;
  [[nodiscard]] bool holds(float value, std::int64_t column) const {
    const std::size_t i = static_cast<std::size_t>(column) % minimum.size();
    return value >= minimum[i] && value <= maximum[i];
  }
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

struct Normalizer {
  ColumnScaling inputs;
  ColumnScaling targets;
  InputRange input_range = {};  // the range of the inputs in training

  /// Converts predictions [rows, outputs] to the targets' units, in place.
  void undo_targets(std::span<float> predictions) const;
  /// Converts standard deviations of predictions likewise, which the shift does not change.
  void undo_deviations(std::span<float> deviations) const;
  friend bool operator==(const Normalizer&, const Normalizer&) = default;
};

/// Scalings that are given; those that are not are computed from the training samples.
struct GivenScalings {
  std::optional<ColumnScaling> inputs;
  std::optional<ColumnScaling> targets;
};

class SampleStore;
struct Split;

/// Returns the statistics of each channel over all points of a grid from those of each column; channels are
/// last.
[[nodiscard]] ColumnStatistics channel_statistics(const ColumnStatistics& columns, std::int64_t channels);

/// Computes the normalizer from the statistics of the training samples, which are a part of the store; the
/// result is the same on every rank. `note` receives a message about constant columns. `channels`: of samples
/// on a grid; 0: no grid. `places`: locations of the deck's keys. Without `normalizes_targets` targets are
/// not changed; `targets_on_grid`: all points of the grid share their scaling. Without normalisation the
/// input range is the one that prepare stored, which avoids a pass over the file; bytes have no range. Where
/// the store's statistics are of channels, "standard" and "minmax" are by channel too. `given` replaces
/// scalings; the input range is that of the training samples in any case.
[[nodiscard]] Normalizer normalizer_for(Normalize method, const SampleStore& store, Split training_samples,
                                        const std::function<void(const std::string&)>& note = {},
                                        std::int64_t channels = 0, const Places& places = {},
                                        bool normalizes_targets = true, bool targets_on_grid = false,
                                        const GivenScalings& given = {});
/// Returns a normalizer of the size of normalizer_for's result, without an input range; a restart reads the
/// values from the checkpoint.
[[nodiscard]] Normalizer room_for_normalizer(Normalize method, const SampleStore& store,
                                             std::int64_t channels = 0, bool normalizes_targets = true);

}  // namespace mylos
