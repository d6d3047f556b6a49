#include "mylos/model/block/halo.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

/// The faces of all samples: one row towards smaller indices, one towards larger ones.
struct Faces {
  Faces(std::int64_t numbers, DType type, std::int64_t rows, std::byte* workspace) : pieces(workspace) {
    sent = pieces.take_tensor(type, 2, rows * numbers);
    received = pieces.take_tensor(type, 2, rows * numbers);
  }

  Pieces pieces;
  Tensor sent, received;
};

/// Returns the samples' points of a slab, which begin one of the two faces.
Tensor samples_of(const Tensor& faces, std::int64_t side, const MarginShape& slab, std::int64_t rows) {
  return {faces.row_range(side, 1).data(), faces.type(), rows, slab.inner.columns()};
}

}  // namespace

std::vector<GridPart> parts_by_edges(const GridPart& part) {
  std::vector<GridPart> parts{part};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t last = part.boxes[axis] - 1;
    std::vector<GridPart> all;
    for (GridPart one : parts) {
      for (const std::int64_t at : {std::int64_t{0}, std::min<std::int64_t>(1, last), last}) {
        one.at[axis] = at;
        if (all.empty() || all.back() != one) all.push_back(one);
      }
    }
    parts = std::move(all);
  }
  return parts;
}

Halo::Halo(const GridShape& box, const HaloWidths& widths, const std::array<bool, 3>& periodic)
    : box_(box), extended_(box), widths_(widths), read_(widths), periodic_(periodic) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extended_.extent[axis] += widths.before[axis] + widths.after[axis];
    const std::int64_t width = std::max(widths.before[axis], widths.after[axis]);
    if (width <= box.extent[axis]) continue;
    fail_input(
        errors::bad_layer,
        "a box has {} points in {}, and its neighbour reads {} of them: give fewer boxes in mesh.space",
        box.extent[axis], axis_names[axis], width);
  }
  check_grid(extended_, "a box with the points around it");
  largest_ = extended_;
}

Halo Halo::inside(const GridPart& part) const {
  Halo result = *this;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (periodic_[axis]) continue;
    if (part.at[axis] == 0) result.widths_.before[axis] = 0;
    if (part.at[axis] + 1 == part.boxes[axis]) result.widths_.after[axis] = 0;
    result.extended_.extent[axis] =
        box_.extent[axis] + result.widths_.before[axis] + result.widths_.after[axis];
  }
  return result;
}

MarginShape Halo::slab(std::size_t axis, std::int64_t from, std::int64_t count) const {
  MarginShape shape{.inner = extended_, .outer = extended_.extent};
  shape.inner.extent[axis] = count;
  shape.before[axis] = from;
  return shape;
}

std::int64_t Halo::face_numbers(std::size_t axis) const {
  GridShape face = largest_;
  face.extent[axis] = std::max(read_.before[axis], read_.after[axis]);
  return face.columns();
}

Halo Halo::with_edges(const PaddingKinds& edges, const GridPart& part) const {
  Halo result = *this;
  result.edges_ = edges;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (edges[axis] != PaddingKind::reflect && edges[axis] != PaddingKind::pole) continue;
    result.is_first_[axis] = part.at[axis] == 0;
    result.is_last_[axis] = part.at[axis] + 1 == part.boxes[axis];
  }
  return result;
}

Tensor Halo::take_extended(Pieces& pieces, DType type, std::int64_t rows) const {
  if (none()) return {};
  const Tensor largest = pieces.take_tensor(type, rows, largest_.columns());
  return {largest.data(), type, rows, extended_.columns()};
}

std::size_t Halo::workspace_bytes(DType type, std::int64_t rows) const {
  std::size_t bytes = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    bytes = std::max(bytes, Faces(face_numbers(axis), type, rows, nullptr).pieces.bytes());
  return bytes;
}

void Halo::add_calls(DType type, std::int64_t rows, std::vector<SampleCall>& calls) const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto numbers = static_cast<std::size_t>(rows * face_numbers(axis));
    if (numbers > 0)
      calls.push_back({.bytes = numbers * size_of(type), .axis = axis, .periodic = periodic_[axis]});
  }
}

void Halo::extend(const Execution& exec, SampleRanks* ranks, const ConstTensor& x, const Tensor& extended,
                  std::byte* workspace) const {
  const std::int64_t rows = x.rows();
  if (edges_ == PaddingKinds()) {
    pad_grid(exec, margins(), x, extended);
  } else {
    extend_grid(exec, {box_, widths_.before, edges_}, x, extended);
  }
  if (ranks == nullptr || rows == 0) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (face_numbers(axis) == 0) continue;
    const std::int64_t before = widths_.before[axis];
    const std::int64_t after = widths_.after[axis];
    const std::int64_t end = before + box_.extent[axis];
    const Faces faces(face_numbers(axis), x.type(), rows, workspace);
    // A rank sends what its neighbours read: the last points of one are before the first of the next.
    const auto send = [&](std::int64_t side, const MarginShape& points) {
      if (points.inner.extent[axis] > 0)
        crop_grid(exec, points, extended, samples_of(faces.sent, side, points, rows));
    };
    const auto receive = [&](std::int64_t side, const MarginShape& points) {
      if (points.inner.extent[axis] > 0)
        insert_grid(exec, points, samples_of(faces.received, side, points, rows), extended);
    };
    send(0, slab(axis, before, read_.after[axis]));
    send(1, slab(axis, end - read_.before[axis], read_.before[axis]));
    ranks->exchange_faces(exec, axis, periodic_[axis], faces.sent, faces.received);
    if (!is_first_[axis]) receive(0, slab(axis, 0, before));
    if (!is_last_[axis]) receive(1, slab(axis, end, after));
  }
}

}  // namespace mylos
