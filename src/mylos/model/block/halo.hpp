// Halo: the points around a box of a sample's grid that other ranks hold, and which a layer reads besides its
// own: a few on both sides of each divided axis.
//
// The neighbours along an axis exchange faces. Axes follow one after the other, and a face spans all points
// of the others, with those that have arrived: so the corners come from diagonal neighbours without messages
// of their own.
#pragma once

#include <array>
#include <vector>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/grid_part.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/margins.hpp"
#include "mylos/model/sample_ranks.hpp"

namespace mylos {

/// Returns whether an axis around poles is divided: the points beyond a pole are then on another rank.
[[nodiscard]] inline bool divides_meridians(const PaddingKinds& kinds, const GridPart& part) {
  const int around = kinds.axis_of(PaddingKind::periodic);
  return kinds.axis_of(PaddingKind::pole) >= 0 && around >= 0 &&
         part.has_boxes(static_cast<std::size_t>(around));
}

/// Returns a part for each combination of edges of the whole grid that parts of it have.
[[nodiscard]] std::vector<GridPart> parts_by_edges(const GridPart& part);

class Halo {
 public:
  /// `periodic`: of each axis; beyond the edges of others lie zeros. Throws Error (bad_input) if a box has
  /// fewer points than its neighbour reads.
  Halo(const GridShape& box, const HaloWidths& widths, const std::array<bool, 3>& periodic);
  /// Returns the same of this part of a grid without the points beyond edges that are not periodic. Messages
  /// have the sizes of all other parts.
  [[nodiscard]] Halo inside(const GridPart& part) const;
  /// Returns the same of this part, whose own points stand for those beyond edges of the kinds reflect and
  /// pole. The widths must be those of check(GridEdges), the same at both ends.
  [[nodiscard]] Halo with_edges(const PaddingKinds& edges, const GridPart& part) const;

  /// Returns whether there are such points, in any part.
  [[nodiscard]] bool none() const { return largest_ == box_; }
  [[nodiscard]] const HaloWidths& widths() const { return widths_; }
  /// Returns the box with these points.
  [[nodiscard]] const GridShape& extended() const { return extended_; }
  /// Returns the box in the middle of these points.
  [[nodiscard]] MarginShape margins() const {
    return {.inner = box_, .outer = extended_.extent, .before = widths_.before};
  }
  /// Takes memory for extended rows, of as many bytes as those of any other part; empty if none().
  [[nodiscard]] Tensor take_extended(Pieces& pieces, DType type, std::int64_t rows) const;
  /// Returns the bytes of workspace that extend() needs, for `rows` samples and for fewer.
  [[nodiscard]] std::size_t workspace_bytes(DType type, std::int64_t rows) const;
  /// Appends the calls that extend() makes.
  void add_calls(DType type, std::int64_t rows, std::vector<SampleCall>& calls) const;

  /// Writes extended = x with the points around it, of which the ranks of the sample send theirs. Without
  /// ranks they are zeros. x: [samples, columns of the box], extended: [samples, columns of extended()], of
  /// one type.
  void extend(const Execution& exec, SampleRanks* ranks, const ConstTensor& x, const Tensor& extended,
              std::byte* workspace) const;

 private:
  /// Returns the points [from, from + count) of an axis of the extended box.
  [[nodiscard]] MarginShape slab(std::size_t axis, std::int64_t from, std::int64_t count) const;
  /// Returns the numbers of a face: the two along an axis have those of the wider one.
  [[nodiscard]] std::int64_t face_numbers(std::size_t axis) const;

  GridShape box_;
  GridShape extended_;
  GridShape largest_;  // extended box of all parts
  HaloWidths widths_;
  HaloWidths read_;  // by parts that do not end at an edge
  std::array<bool, 3> periodic_;
  PaddingKinds edges_ = {};
  std::array<bool, 3> is_first_ = {}, is_last_ = {};  // along axes of these kinds
};

}  // namespace mylos
