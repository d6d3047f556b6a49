#include "commands/array_predictions.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/inference/rollout/field_file.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"

namespace mylos::app {
namespace {

/// Returns the number of trajectories of the store's only file.
std::int64_t trajectories_of(const ArrayStore& store) {
  const Split samples = store.samples_of(0);
  std::int64_t count = 0;
  for (std::int64_t first = samples.first; first < samples.first + samples.count; ++count)
    first = end_of_trajectory(store, first, samples.first + samples.count);
  return count;
}

class ArrayPredictions final : public PredictionFile {
 public:
  ArrayPredictions(const std::string& path, const ArrayStore& store, const ArrayOptions& options,
                   const std::string& checkpoint, const PredictionParts& parts)
      : parts_(parts), points_(options.points_are_samples ? points_of(store, options) : 1) {
    const std::int64_t trajectories = trajectories_of(store);
    windows_ = store.samples() / (trajectories * points_);
    for (std::int64_t i = 0; i < windows_; ++i) newest_of_.push_back(store.location_of(i * points_).level);
    if (options.has_differences()) open_levels(store, options);
    FieldFileShape shape{.arrays = options.targets,
                         .members = {},
                         .is_one_start = true,
                         .levels = {},
                         .checkpoint = checkpoint,
                         .parts = {}};
    for (const PredictionArray& array : parts_.arrays()) {
      if (array.part == PredictionPart::mean) continue;
      const bool is_bound = array.part == PredictionPart::lower || array.part == PredictionPart::upper;
      FieldPart part{.suffix = parts_.array_suffix(array), .coverage = {}, .quantile = {}};
      if (is_bound) part.coverage = parts_.coverage;
      if (array.part == PredictionPart::quantile)
        part.quantile = parts_.quantiles[static_cast<std::size_t>(array.member)];
      shape.parts.push_back(part);
    }
    for (std::int64_t i = 0; i < trajectories; ++i) shape.members.push_back(i);
    for (std::size_t i = 0; i < newest_of_.size(); ++i) shape.levels.push_back(newest_of_[i] + options.ahead);
    file_ = std::make_unique<FieldFile>(path, store, shape);
  }

  void write(const PredictionArray& array, const ComputedSamples& samples,
             std::span<const float> values) override {
    const std::size_t width = values.size() / static_cast<std::size_t>(samples.count);
    part_ = samples.part;
    for (std::int64_t i = 0; i < samples.count; ++i)
      put(array, samples.first + i, values.subspan(static_cast<std::size_t>(i) * width, width));
  }
  void close() override { file_->close(); }
  void publish() override { file_->publish(); }

 private:
  /// Opens the levels of the arrays whose differences the network predicts, and lists their channels.
  void open_levels(const ArrayStore& store, const ArrayOptions& options) {
    ArrayOptions changing = options;
    std::erase_if(changing.targets,
                  [&](const std::string& target) { return !options.is_difference(target); });
    for (const std::string& target : options.targets) {
      std::int64_t width = 1;
      for (const AxisCoordinates& axis : store.coordinates(0, target).axes)
        if (axis.axis == channel_axis) width = axis.extent;
      const bool is_difference = options.is_difference(target);
      for (std::int64_t i = 0; i < width; ++i, ++channels_)
        if (is_difference) changing_.push_back(channels_);
    }
    levels_.emplace(store.files(), changing, LevelsOf::targets);
  }

  struct Box {
    GridPart part;
    std::unique_ptr<StoredLevels> levels;
  };

  /// A field whose points come one by one.
  struct Incomplete {
    std::vector<float> values;
    std::int64_t points = 0;
  };

  static std::int64_t points_of(const ArrayStore& store, const ArrayOptions& options) {
    std::int64_t points = 1;
    for (const AxisCoordinates& axis : store.coordinates(0, options.inputs.front()).axes)
      if (axis.axis != sample_axis && axis.axis != time_axis && axis.axis != channel_axis)
        points *= axis.extent;
    return points;
  }

  void put(const PredictionArray& array, std::int64_t sample, std::span<const float> values) {
    const std::int64_t window = sample / points_;
    Incomplete& field = incomplete_[{parts_.index_of(array), window}];
    field.values.resize(static_cast<std::size_t>(points_) * values.size());
    std::copy(values.begin(), values.end(),
              field.values.begin() + sample % points_ * static_cast<std::ptrdiff_t>(values.size()));
    if (++field.points < points_) return;
    write_field(array, window, field.values);
    incomplete_.erase({parts_.index_of(array), window});
  }

  void write_field(const PredictionArray& array, std::int64_t window, std::vector<float>& field) {
    const std::int64_t trajectory = window / windows_;
    const std::int64_t window_of_trajectory = window % windows_;
    if (levels_ && array.part != PredictionPart::standard_deviation) {
      const std::size_t points = field.size() / channels_;
      newest_.resize(points * changing_.size());
      levels().read(trajectory, newest_of_[static_cast<std::size_t>(window_of_trajectory)], newest_);
      for (std::size_t point = 0; point < points; ++point)
        for (std::size_t k = 0; k < changing_.size(); ++k)
          field[point * channels_ + changing_[k]] += newest_[point * changing_.size() + k];
    }
    file_->write_box(part_, trajectory, window_of_trajectory, field, parts_.index_of(array));
  }

  /// Returns the levels of the part that is written.
  const StoredLevels& levels() {
    if (!part_.is_split()) return *levels_;
    const auto found = std::ranges::find(boxes_, part_, &Box::part);
    if (found != boxes_.end()) return *found->levels;
    return *boxes_.emplace_back(Box{part_, std::make_unique<StoredLevels>(*levels_, part_)}).levels;
  }

  PredictionParts parts_;
  std::int64_t points_;                  // that are samples; 1: samples are fields
  std::int64_t windows_ = 1;             // of a trajectory
  std::vector<std::int64_t> newest_of_;  // level of the inputs of each window of a trajectory
  std::optional<StoredLevels> levels_;   // of the arrays whose differences the network predicts
  std::vector<Box> boxes_;               // the same of parts
  GridPart part_;                        // that is written
  std::size_t channels_ = 0;             // of all predicted arrays
  std::vector<std::size_t> changing_;    // those whose newest level is added
  std::vector<float> newest_;            // one of them
  std::map<std::pair<std::size_t, std::int64_t>, Incomplete> incomplete_;  // by part and window
  std::unique_ptr<FieldFile> file_;
};

}  // namespace

bool has_layout_of_predictions(const ArrayStore& store, const ArrayOptions& options) {
  if (store.files().size() != 1 || options.targets.empty()) return false;
  return std::all_of(options.targets.begin(), options.targets.end(), [&](const std::string& target) {
    return std::any_of(store.arrays().begin(), store.arrays().end(),
                       [&](const ArrayReport& array) { return array.path == target; });
  });
}

std::unique_ptr<PredictionFile> make_array_predictions(const std::string& path, const ArrayStore& store,
                                                       const ArrayOptions& options,
                                                       const std::string& checkpoint,
                                                       const PredictionParts& parts) {
  return std::make_unique<ArrayPredictions>(path, store, options, checkpoint, parts);
}

}  // namespace mylos::app
