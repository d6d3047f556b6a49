// Mesh: which part of a sample's grid each rank holds, and which ranks share a sample ([mesh]).
//
// rank = batch_rank · boxes + box: consecutive ranks share a sample, and the groups of ranks share the
// samples of a batch. Boxes are numbered row by row: depth, height, width.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/comm/options.hpp"

namespace mylos {

class Mesh {
 public:
  /// The mesh on one of `ranks` ranks. Throws Error (bad_input) if `ranks` is no multiple of the boxes.
  Mesh(const MeshOptions& options, int rank, int ranks);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// Return the box of this rank, and of another one.
  [[nodiscard]] const GridPart& part() const { return part_; }
  [[nodiscard]] GridPart part_of(int rank) const;
  /// Returns the number of boxes of a sample: the number of ranks that share it.
  [[nodiscard]] int boxes() const { return static_cast<int>(part_.count()); }
  /// Returns the index of this rank's group of ranks, and the number of groups.
  [[nodiscard]] int batch_rank() const { return rank_ / boxes(); }
  [[nodiscard]] int batch_ranks() const { return ranks_ / boxes(); }

  /// Returns the rank of the next box along an axis (0: depth, 1: height, 2: width) in a direction (-1, 1).
  /// Beyond an edge lies the opposite box if the axis is `periodic`, which may be this rank's; else none.
  [[nodiscard]] std::optional<int> neighbour(std::size_t axis, int direction, bool periodic) const;
  /// Returns the ranks that share this rank's samples, this one included, in the order of their boxes.
  [[nodiscard]] std::vector<int> sample_ranks() const;

 private:
  int rank_;
  int ranks_;
  GridPart part_;
};

}  // namespace mylos
