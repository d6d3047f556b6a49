#include "commands/array_predictions.hpp"

#include <algorithm>
#include <map>
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
      : store_(store),
        parts_(parts),
        adds_newest_(options.targets_are == TargetsAre::difference),
        points_(options.points_are_samples ? points_of(store, options) : 1) {
    const std::int64_t trajectories = trajectories_of(store);
    windows_ = store.samples() / (trajectories * points_);
    if (adds_newest_) layout_ = level_layout(options, store);
    FieldFileShape shape{.arrays = options.targets,
                         .members = {},
                         .is_one_start = true,
                         .levels = {},
                         .checkpoint = checkpoint,
                         .parts = {}};
    for (const PredictionArray& array : parts_.arrays()) {
      if (array.part == PredictionPart::mean) continue;
      const bool is_bound = array.part == PredictionPart::lower || array.part == PredictionPart::upper;
      shape.parts.push_back({array_suffix(array), is_bound ? parts_.coverage : std::nullopt});
    }
    for (std::int64_t i = 0; i < trajectories; ++i) shape.members.push_back(i);
    for (std::int64_t i = 0; i < windows_; ++i)
      shape.levels.push_back(options.history - 1 + options.ahead + i * options.every);
    file_ = std::make_unique<FieldFile>(path, store, shape);
  }

  void write(const PredictionArray& array, const Share& samples, std::span<const float> values) override {
    const std::size_t part = parts_.index_of(array);
    const bool is_deviation = array.part == PredictionPart::standard_deviation;
    const std::size_t width = values.size() / static_cast<std::size_t>(samples.count);
    for (std::int64_t i = 0; i < samples.count; ++i) {
      std::vector<float> sample(values.begin() + i * static_cast<std::ptrdiff_t>(width),
                                values.begin() + (i + 1) * static_cast<std::ptrdiff_t>(width));
      if (adds_newest_ && !is_deviation) add_newest(samples.first + i, sample);
      put(part, samples.first + i, sample);
    }
  }
  void close() override { file_->close(); }
  void publish() override { file_->publish(); }

 private:
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

  void add_newest(std::int64_t sample, std::vector<float>& values) {
    inputs_.resize(static_cast<std::size_t>(store_.features()));
    store_.read_inputs(sample, 1, inputs_.data());
    const std::size_t state = layout_.state.size();
    const std::size_t newest = static_cast<std::size_t>((layout_.history - 1) * layout_.channels);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t point = i / state * static_cast<std::size_t>(layout_.inputs());
      values[i] += inputs_[point + newest + static_cast<std::size_t>(layout_.state[i % state])];
    }
  }

  void put(std::size_t part, std::int64_t sample, const std::vector<float>& values) {
    const std::int64_t window = sample / points_;
    if (points_ == 1) {
      file_->write(window / windows_, window % windows_, values, part);
      return;
    }
    Incomplete& field = incomplete_[{part, window}];
    field.values.resize(static_cast<std::size_t>(points_) * values.size());
    std::copy(values.begin(), values.end(),
              field.values.begin() + sample % points_ * static_cast<std::ptrdiff_t>(values.size()));
    if (++field.points < points_) return;
    file_->write(window / windows_, window % windows_, field.values, part);
    incomplete_.erase({part, window});
  }

  const ArrayStore& store_;
  PredictionParts parts_;
  bool adds_newest_;
  std::int64_t points_;       // that are samples; 1: samples are fields
  std::int64_t windows_ = 1;  // of a trajectory
  LevelLayout layout_;
  std::vector<float> inputs_;                                              // of a sample
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
