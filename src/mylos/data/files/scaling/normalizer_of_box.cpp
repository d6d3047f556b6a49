#include "mylos/data/files/scaling/normalizer_of_box.hpp"

#include "mylos/base/numbers/grid_box.hpp"

namespace mylos {

Normalizer part_of(const Normalizer& whole, const std::vector<std::int64_t>& grid, const GridPart& part,
                   bool whole_truth) {
  if (!part.is_split()) return whole;
  std::vector<std::int64_t> extents = grid;
  if (!extents.empty()) extents.pop_back();
  const GridBox box = box_of(part, extents, "data.normalize");
  const auto scaling_of = [&](const ColumnScaling& of) {
    return ColumnScaling{cut(of.shift, box), cut(of.scale, box)};
  };
  Normalizer normalizer{scaling_of(whole.inputs), whole_truth ? whole.targets : scaling_of(whole.targets),
                        whole.input_range};
  // The range is that of channels, which may be as many as points, or of columns.
  InputRange& range = normalizer.input_range;
  if (static_cast<std::int64_t>(range.minimum.size()) == box.grid_points() * grid.back())
    range = {cut(range.minimum, box), cut(range.maximum, box)};
  return normalizer;
}

}  // namespace mylos
