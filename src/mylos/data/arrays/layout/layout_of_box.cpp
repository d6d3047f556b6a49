#include "mylos/data/arrays/layout/layout_of_box.hpp"

#include "mylos/base/numbers/grid_box.hpp"

namespace mylos {

std::vector<std::int64_t> own_strides_of(const std::vector<std::int64_t>& own,
                                         const std::vector<std::int64_t>& grid) {
  if (own == grid) return {};
  std::vector<std::int64_t> strides(grid.size());
  std::int64_t stride = 1;
  for (std::size_t k = grid.size(); k-- > 0; stride *= own[k]) strides[k] = own[k] > 1 ? stride : 0;
  return strides;
}

SampleLayout layout_of_box(SampleLayout layout, const GridPart& part) {
  const std::vector<std::int64_t> whole = layout.grid;
  const std::size_t axes = whole.size();
  for (std::size_t k = 0; k < axes; ++k) layout.grid[k] = box_of_axis(part, k, axes, whole[k]).count;
  layout.own_strides.clear();
  for (StoredExtents& extents : layout.extents) {
    for (std::size_t k = 0; k < axes; ++k)
      if (extents.grid[k] == whole[k]) extents.grid[k] = layout.grid[k];  // others lack the axis
    layout.own_strides.push_back(own_strides_of(extents.grid, layout.grid));
  }
  layout.rollout.points = 1;
  for (const std::int64_t extent : layout.grid) layout.rollout.points *= extent;
  return layout;
}

}  // namespace mylos
