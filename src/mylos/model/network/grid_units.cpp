#include "mylos/model/network/grid_units.hpp"

#include <algorithm>
#include <numeric>

#include "mylos/base/error.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// Returns the grids of the network of whole samples; none if there is no such network.
std::vector<GridShape> whole_grids(ModelOptions model, const PrecisionOptions& precision) {
  model.part = {};
  try {
    return make_chain(model, precision, 0, false).grids;
  } catch (const Error&) {  // make_chain() of a part says why
    return {};
  }
}

}  // namespace

std::vector<std::int64_t> grid_units(const ModelOptions& model, const PrecisionOptions& precision,
                                     const std::vector<std::int64_t>& space) {
  const std::size_t axes = space.size();
  const bool is_split = std::ranges::any_of(space, [](std::int64_t boxes) { return boxes > 1; });
  if (!is_split || axes > 3 || model.shape.size() != axes + 1) return {};
  const std::vector<GridShape> grids = whole_grids(model, precision);
  if (grids.empty()) return {};
  std::vector<std::int64_t> units(axes, 0);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::int64_t all = model.shape[axis];
    for (const GridShape& grid : grids)
      if (grid.points() > 1) all = std::gcd(all, grid.extent[3 - axes + axis]);  // else a vector
    if (all > space[axis] && all % space[axis] != 0) units[axis] = all;
  }
  const bool is_uneven = std::ranges::any_of(units, [](std::int64_t count) { return count > 0; });
  return is_uneven ? units : std::vector<std::int64_t>();
}

}  // namespace mylos
