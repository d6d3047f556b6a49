#include "mylos/base/numbers/grid_box.hpp"

#include <fmt/ranges.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"

namespace mylos {
namespace {

/// Returns what the deck has.
std::string describe_boxes(const GridPart& part) {
  return fmt::format("mesh.space divides samples into {} boxes", fmt::join(part.boxes, " x "));
}

}  // namespace

GridBox box_of(const GridPart& part, const std::vector<std::int64_t>& extents, const std::string& where) {
  const std::size_t axes = part.boxes.size();
  if (extents.empty() || extents.size() > axes) {
    fail_input(errors::bad_value, "{}: its samples have {}, but {}; boxes need a grid of 1 to {} axes", where,
               extents.empty() ? "no grid" : fmt::format("a grid of {} axes", extents.size()),
               describe_boxes(part), axes);
  }
  GridBox box;
  const std::size_t lacking = axes - extents.size();
  for (std::size_t i = 0; i < axes; ++i) {
    if (i < lacking) {
      if (!part.is_split(i)) continue;
      fail_input(errors::bad_value,
                 "{}: its samples have a grid of {} {}, but {}; give one number for each axis of the grid",
                 where, extents.size(), extents.size() == 1 ? "axis" : "axes", describe_boxes(part));
    }
    box.extents[i] = extents[i - lacking];
    if (box.extents[i] % part.all_units(i) != 0) {
      fail_input(errors::bad_value,
                 "{}: its samples have a grid of [{}], but {}; boxes are {}equal, and {} does not divide {}",
                 where, fmt::join(extents, ", "), describe_boxes(part),
                 part.is_uneven(i) ? "of units of the network's grids, which are " : "", part.all_units(i),
                 box.extents[i]);
    }
    const AxisBox along = box_of_axis(part, i - lacking, extents.size(), box.extents[i]);
    box.first[i] = along.first;
    box.count[i] = along.count;
  }
  return box;
}

}  // namespace mylos
