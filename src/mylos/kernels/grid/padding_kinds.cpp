#include "mylos/kernels/grid/padding_kinds.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

void check_poles(const GridEdges& edges) {
  const auto& [grid, padding, kinds] = edges;
  const auto poles = std::count(kinds.of.begin(), kinds.of.end(), PaddingKind::pole);
  if (poles == 0) return;
  const auto around = std::count(kinds.of.begin(), kinds.of.end(), PaddingKind::periodic);
  if (poles > 1 || around != 1) {
    fail_input(errors::bad_layer,
               "{} axes have poles at their edges, and {} are periodic; beyond a pole lies the opposite "
               "meridian: one axis (latitude) has poles and exactly one other (longitude) is periodic",
               poles, around);
  }
  const auto pole = static_cast<std::size_t>(kinds.axis_of(PaddingKind::pole));
  const auto meridians = static_cast<std::size_t>(kinds.axis_of(PaddingKind::periodic));
  if (padding[pole] == 0 || grid.extent[meridians] % 2 == 0) return;
  fail_input(errors::bad_layer,
             "the grid has {} points in {}, around the poles of {}; only an even number has an opposite "
             "meridian for each",
             grid.extent[meridians], axis_names[meridians], axis_names[pole]);
}

}  // namespace

void check(const GridEdges& edges) {
  const auto& [grid, padding, kinds] = edges;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t points = padding[axis];
    const std::int64_t extent = grid.extent[axis];
    if (kinds[axis] == PaddingKind::reflect && points >= extent) {
      fail_input(errors::bad_layer,
                 "a layer reflects {} points beyond the grid's edges in {}, where the grid has {}: "
                 "padding must be less than that",
                 points, axis_names[axis], extent);
    }
    const bool repeats = kinds[axis] == PaddingKind::periodic || kinds[axis] == PaddingKind::pole;
    if (repeats && points > extent) {
      fail_input(errors::bad_layer,
                 "a layer repeats {} points beyond the grid's edges in {}, where the grid has {}: "
                 "padding must not be more than that",
                 points, axis_names[axis], extent);
    }
  }
  check_poles(edges);
}

}  // namespace mylos
