// StoredTrajectories: trajectories in files of arrays, read level by level.
//
// A trajectory is what one file has at one index of the axis "sample". Every level is a sample of a store
// whose windows are one level long, so values are read and converted as those of training are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/arrays/array_store.hpp"
#include "mylos/inference/rollout/trajectories.hpp"
#include "mylos/inference/scores/score_file.hpp"

namespace mylos {

/// Returns the end of the samples from `first` on, before `end`, that are of the same trajectory of one file:
/// the samples of a trajectory follow each other.
[[nodiscard]] std::int64_t end_of_trajectory(const ArrayStore& store, std::int64_t first, std::int64_t end);

/// One rollout: a trajectory, and the first of the levels that it begins with.
struct RolloutMember {
  std::int64_t trajectory = 0;
  std::int64_t first_level = 0;
  friend bool operator==(const RolloutMember&, const RolloutMember&) = default;
};

/// What levels have of the options of a run: inputs, encodings and constants, or the targets alone.
enum class LevelsOf { inputs, targets };

/// The trajectories of a store of levels.
class StoredLevels {
 public:
  /// Opens the files as open_array_store() does: each level is a sample. Axes, slices and fill, and the order
  /// of points, are those of the options.
  StoredLevels(const std::vector<std::string>& names, const ArrayOptions& options, LevelsOf of);

  /// The same levels, of which the box alone is read. `whole` must outlive it. Throws Error (bad_value) that
  /// names mesh.space unless the boxes divide the grid.
  StoredLevels(const StoredLevels& whole, const GridPart& part);

  /// Returns the store of the whole levels.
  [[nodiscard]] const ArrayStore& store() const { return *store_; }
  [[nodiscard]] std::int64_t trajectories() const { return static_cast<std::int64_t>(all_.size()); }
  [[nodiscard]] std::int64_t levels(std::int64_t trajectory) const;
  void read(std::int64_t trajectory, std::int64_t level, std::span<float> values) const;
  /// Writes the encoded channels of a level, which may lie beyond the last one: by the distance of the last
  /// two, or `step` if there is one level. Throws Error (too_little_data) if that is not known.
  void encode(std::int64_t trajectory, std::int64_t level, const LevelStep& step,
              std::span<float> values) const;
  /// Returns the times of the levels of a trajectory.
  [[nodiscard]] const LevelTimes& times(std::int64_t trajectory) const;
  /// Returns whether levels [first, first + count), as far as there are, follow each other in time; true
  /// where times are ignored.
  [[nodiscard]] bool follow(std::int64_t trajectory, std::int64_t first, std::int64_t count) const;
  /// Throws Error (data_mismatch) unless the `count` levels from the member's first one do.
  void require_no_gap(const RolloutMember& member, std::int64_t count) const;

 private:
  std::shared_ptr<ArrayStore> store_;
  std::shared_ptr<ArrayStore> box_;  // null: levels are read whole
  std::vector<Split> all_;           // the samples of each trajectory, one a level
};

/// Returns the slices of complete trajectories: without that of the axis "sample", and without the beginning
/// and end of the time axis, whose step stays.
[[nodiscard]] std::vector<AxisSlice> slices_of_trajectories(const std::vector<AxisSlice>& slices);

class StoredTrajectories final : public Trajectories {
 public:
  /// `options`: those of the run. `truth` may be null. `step`: of the levels of the training. Throws Error
  /// (bad_input) where no target is an input.
  StoredTrajectories(const ArrayOptions& options, std::shared_ptr<const StoredLevels> starts,
                     std::shared_ptr<const StoredLevels> truth, std::vector<RolloutMember> members,
                     LevelStep step = {});

  /// The same members, of whose levels the box alone is read. They have no truth. Throws Error (bad_value) as
  /// StoredLevels.
  StoredTrajectories(const StoredTrajectories& whole, const GridPart& part);

  [[nodiscard]] const LevelLayout& layout() const override { return layout_; }
  [[nodiscard]] std::int64_t members() const override { return static_cast<std::int64_t>(members_.size()); }
  void read_level(std::int64_t member, std::int64_t level, std::span<float> values) const override;
  [[nodiscard]] bool has_truth(std::int64_t member, std::int64_t step) const override;
  void read_truth(std::int64_t member, std::int64_t step, std::span<float> state) const override;

  /// Returns the level of the truth, counted from the first of its trajectory, after a step.
  [[nodiscard]] std::int64_t level_of_truth(std::int64_t member, std::int64_t step) const;
  [[nodiscard]] const RolloutMember& member(std::int64_t member) const {
    return members_[static_cast<std::size_t>(member)];
  }

 private:
  std::shared_ptr<const StoredLevels> starts_;
  std::shared_ptr<const StoredLevels> truth_;
  std::vector<RolloutMember> members_;
  LevelStep step_;
  LevelLayout layout_;
};

/// Returns what a network of these options reads. `levels` has the inputs and constants; of other targets its
/// first file has the axes. Throws Error (bad_input) where no target is an input, one is not in that file, or
/// where windows of several levels would be advanced by more than one.
[[nodiscard]] LevelLayout level_layout(const ArrayOptions& options, const ArrayStore& levels);

/// Returns what variables and lead times the measures of rollouts of `steps` steps are of. `truth`: levels of
/// the targets.
[[nodiscard]] ScoreAxes score_axes(const ArrayOptions& options, const ArrayStore& truth, std::int64_t steps);

/// Returns the rollouts of `steps` steps that begin every `stride` levels of each trajectory, from its first
/// one on, and end in it. Those that cross a gap in time are left out.
[[nodiscard]] std::vector<RolloutMember> members_by_stride(const StoredLevels& levels,
                                                           const LevelLayout& layout, std::int64_t steps,
                                                           std::int64_t stride);

}  // namespace mylos
