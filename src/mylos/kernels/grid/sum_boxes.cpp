#include "mylos/kernels/grid/sum_boxes.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/kernels/launch/reduce.hpp"

namespace mylos {

SumBoxes::SumBoxes(const GridShape& box, const GridPart& part, const HaloWidths& around)
    : place_{.inner = box, .outer = box.extent},
      sums_(part.sums),
      extent_(box.extent),
      count_(static_cast<int>(part.sum_boxes())) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (box.extent[axis] % sums_[axis] != 0) {
      fail_input(errors::bad_layer,
                 "mesh.sums takes the sums over a rank's {} points in {} by {} boxes, which are not equal; "
                 "give a divisor",
                 box.extent[axis], axis_names[axis], sums_[axis]);
    }
    extent_[axis] /= sums_[axis];
    const std::int64_t points_around = around.before[axis] + around.after[axis];
    place_.inner.extent[axis] = extent_[axis] + points_around;
    place_.outer[axis] += points_around;
  }
}

Extents SumBoxes::at_of(int index) const {
  Extents at;
  std::int64_t rest = index;
  for (std::size_t axis = 3; axis-- > 0; rest /= sums_[axis]) at[axis] = rest % sums_[axis];
  return at;
}

MarginShape SumBoxes::place_of(int index) const {
  MarginShape place = place_;
  const Extents at = at_of(index);
  for (std::size_t axis = 0; axis < 3; ++axis) place.before[axis] = at[axis] * extent_[axis];
  return place;
}

Tensor SumBoxes::take_points(Pieces& pieces, DType type, std::int64_t rows) const {
  return is_one() ? Tensor() : pieces.take_tensor(type, rows, grid().columns());
}

void SumBoxes::copy_points(const Execution& exec, int index, const ConstTensor& matrix,
                           const Tensor& points) const {
  crop_grid(exec, place_of(index), matrix, points);
}

void SumBoxes::put_points(const Execution& exec, int index, const ConstTensor& points,
                          const Tensor& matrix) const {
  if (!is_one() && !matrix.empty()) insert_grid(exec, place_of(index), points, matrix);
}

Tensor SumBoxes::take_sums(Pieces& pieces, DType type, std::int64_t numbers) const {
  return is_one() ? Tensor() : pieces.take_tensor(type, count_, numbers);
}

void add_sums_of_boxes(const Execution& exec, const Tensor& sums, const Tensor& all, bool accumulate) {
  if (!sums.empty() && !all.empty()) add_rows_by_tree(exec, sums, all, accumulate);
}

}  // namespace mylos
