// DividedRollouts: rollouts of states that several ranks share. Each computes its box of each state; the
// first of them, and rank 0, put the boxes together and measure whole states.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/inference/rollout/trajectories.hpp"

namespace mylos {

class DividedRollouts {
 public:
  /// `mesh`: of this rank. `box`: the trajectories of its box; it must outlive the object. `extents`: of
  /// whole levels.
  DividedRollouts(const Mesh& mesh, const Trajectories& box, const std::vector<std::int64_t>& extents);

  /// Returns the trajectories of this rank's box.
  [[nodiscard]] const Trajectories& box() const { return box_; }
  /// Returns the members of which a rank computes boxes, and those that it measures.
  [[nodiscard]] Share computed(std::int64_t members, int rank) const;
  [[nodiscard]] Share measured(std::int64_t members, int rank) const;
  /// Returns the rank that measures the states of which `rank` computes boxes.
  [[nodiscard]] int measuring_rank(int rank) const { return rank - rank % boxes(); }
  [[nodiscard]] int boxes() const { return static_cast<int>(of_rank_.size()); }
  /// Returns the points of the box that a rank computes.
  [[nodiscard]] std::int64_t points_of(int rank) const {
    return of_rank_[static_cast<std::size_t>(rank % boxes())].points();
  }

  /// Returns the points of the largest box.
  [[nodiscard]] std::int64_t max_points() const { return points_of(0); }

  /// Puts the fields [fields, points of the box, channels] that a rank has computed where they belong in
  /// whole ones.
  void place(int rank, std::span<const float> fields, std::span<float> whole, std::int64_t channels) const;
  /// Returns the column, of the row of a whole sample, of a column of this rank's box.
  [[nodiscard]] std::size_t column_of_whole(std::size_t column, std::int64_t channels) const;

 private:
  const Trajectories& box_;
  int rank_;
  int groups_;
  std::vector<GridBox> of_rank_;  // of a sample
};

}  // namespace mylos
