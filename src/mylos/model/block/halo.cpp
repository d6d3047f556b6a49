#include "mylos/model/block/halo.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/pieces.hpp"

namespace mylos {
namespace {

/// The faces of all samples: one row towards smaller indices, one towards larger ones.
struct Faces {
  Faces(const GridShape& slab, DType type, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    sent = pieces.take_tensor(type, 2, rows * slab.columns());
    received = pieces.take_tensor(type, 2, rows * slab.columns());
  }

  Pieces pieces;
  Tensor sent, received;
};

/// Returns one of the two faces as the samples' matrix.
Tensor samples_of(const Tensor& faces, std::int64_t side, std::int64_t rows) {
  const Tensor face = faces.row_range(side, 1);
  return {face.data(), face.type(), rows, face.columns() / rows};
}

}  // namespace

Halo::Halo(const GridShape& box, const Extents& width, const std::array<bool, 3>& periodic)
    : box_(box), extended_(box), width_(width), periodic_(periodic) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extended_.extent[axis] += 2 * width[axis];
    if (width[axis] <= box.extent[axis]) continue;
    fail_input(
        errors::bad_layer,
        "a box has {} points in {}, and its neighbour reads {} of them: give fewer boxes in mesh.space",
        box.extent[axis], axis_names[axis], width[axis]);
  }
  check_grid(extended_, "a box with the points around it");
}

MarginShape Halo::slab(std::size_t axis, std::int64_t from) const {
  MarginShape shape{.inner = extended_, .outer = extended_.extent};
  shape.inner.extent[axis] = width_[axis];
  shape.before[axis] = from;
  return shape;
}

std::size_t Halo::workspace_bytes(DType type, std::int64_t rows) const {
  std::size_t bytes = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (width_[axis] > 0)
      bytes = std::max(bytes, Faces(slab(axis, 0).inner, type, rows, nullptr).pieces.bytes());
  }
  return bytes;
}

std::size_t Halo::exchanged_bytes(DType type, std::int64_t rows) const {
  std::int64_t numbers = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (width_[axis] > 0) numbers = std::max(numbers, 4 * rows * slab(axis, 0).inner.columns());
  }
  return static_cast<std::size_t>(numbers) * size_of(type);
}

void Halo::extend(const Execution& exec, SampleRanks* ranks, const ConstTensor& x, const Tensor& extended,
                  std::byte* workspace) const {
  pad_grid(exec, {.inner = box_, .outer = extended_.extent, .before = width_}, x, extended);
  if (ranks == nullptr || x.rows() == 0) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t width = width_[axis];
    if (width == 0) continue;
    const std::int64_t points = box_.extent[axis];
    const std::int64_t rows = x.rows();
    const Faces faces(slab(axis, 0).inner, x.type(), rows, workspace);
    crop_grid(exec, slab(axis, width), extended, samples_of(faces.sent, 0, rows));
    crop_grid(exec, slab(axis, points), extended, samples_of(faces.sent, 1, rows));
    ranks->exchange_faces(exec, axis, periodic_[axis], faces.sent, faces.received);
    insert_grid(exec, slab(axis, 0), samples_of(faces.received, 0, rows), extended);
    insert_grid(exec, slab(axis, width + points), samples_of(faces.received, 1, rows), extended);
  }
}

}  // namespace mylos
