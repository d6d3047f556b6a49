// SumBoxes: the equal boxes of a rank's box by which sums over its points are taken (GridPart::sums).
//
// The points of one after the other are copied next to each other, and a sum over them is that of a rank
// which holds them alone. The sums are added by the binary tree, as those of ranks are: so the bits of all
// boxes' sum do not depend on which ranks hold them, if those of a rank are a node of the tree.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/grid_part.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/grid/margins.hpp"

namespace mylos {

class SumBoxes {
 public:
  /// `around`: points around the box that lie in its matrices too, and around each of its boxes. Throws Error
  /// (bad_input) unless the boxes are equal.
  SumBoxes(const GridShape& box, const GridPart& part, const HaloWidths& around = {});

  [[nodiscard]] int count() const { return count_; }
  /// Returns whether the box is the only one: nothing is copied then, and nothing added.
  [[nodiscard]] bool is_one() const { return count_ == 1; }
  /// Returns the index of box `index` along each axis.
  [[nodiscard]] Extents at_of(int index) const;
  /// Returns the grid of one of the boxes, with the points around it.
  [[nodiscard]] const GridShape& grid() const { return place_.inner; }

  /// Takes memory for the points of one box in `rows` samples; empty if it is the only one.
  [[nodiscard]] Tensor take_points(Pieces& pieces, DType type, std::int64_t rows) const;
  /// Returns the points of box `index` of a matrix [samples, columns of the whole box]: copied to `points`,
  /// or the matrix if there is one box. Nothing of an empty matrix.
  template <class AnyTensor>
  [[nodiscard]] AnyTensor points_of(const Execution& exec, int index, const AnyTensor& matrix,
                                    const Tensor& points) const {
    if (is_one() || matrix.empty()) return matrix;
    copy_points(exec, index, matrix, points);
    return points;
  }
  /// Writes points = those of box `index` of a matrix [samples, columns of the whole box].
  void copy_points(const Execution& exec, int index, const ConstTensor& matrix, const Tensor& points) const;
  /// Writes them back into the matrix, unless they are the matrix or it is empty.
  void put_points(const Execution& exec, int index, const ConstTensor& points, const Tensor& matrix) const;

  /// Takes memory for the sums of all boxes, `numbers` of each; empty if there is one.
  [[nodiscard]] Tensor take_sums(Pieces& pieces, DType type, std::int64_t numbers) const;

 private:
  [[nodiscard]] MarginShape place_of(int index) const;

  MarginShape place_;  // of the first one
  std::array<std::int64_t, 3> sums_;
  Extents extent_;  // of one without the points around it
  int count_;
};

/// Returns the sum of box `index` in the memory of take_sums(), in the shape of `all`; `all` itself if there
/// is one box.
[[nodiscard]] inline Tensor sum_of_box(const Tensor& sums, int index, const Tensor& all) {
  return all.empty() || sums.empty()
             ? all
             : Tensor(sums.row_range(index, 1).data(), all.type(), all.rows(), all.columns());
}

/// Adds these sums up to `all`, by the binary tree; adds to its contents if `accumulate`. Nothing remains to
/// be done if there is one box, or if `all` is empty.
void add_sums_of_boxes(const Execution& exec, const Tensor& sums, const Tensor& all, bool accumulate);

}  // namespace mylos
