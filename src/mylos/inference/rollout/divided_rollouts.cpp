#include "mylos/inference/rollout/divided_rollouts.hpp"

#include <algorithm>

namespace mylos {

DividedRollouts::DividedRollouts(const Mesh& mesh, const Trajectories& box,
                                 const std::vector<std::int64_t>& extents)
    : box_(box), rank_(mesh.rank()), groups_(mesh.batch_ranks()) {
  for (int other = 0; other < mesh.boxes(); ++other)
    of_rank_.push_back(box_of(mesh.part_of(other), extents, "mesh.space"));
}

Share DividedRollouts::computed(std::int64_t members, int rank) const {
  return share_of(members, rank / boxes(), groups_);
}

Share DividedRollouts::measured(std::int64_t members, int rank) const {
  return measuring_rank(rank) == rank ? computed(members, rank) : Share{};
}

void DividedRollouts::place(int rank, std::span<const float> fields, std::span<float> whole,
                            std::int64_t channels) const {
  const GridBox& box = of_rank_[static_cast<std::size_t>(rank % boxes())];
  const std::int64_t values = box.points() * channels;
  const std::int64_t count = std::ssize(fields) / values;
  for (std::int64_t field = 0; field < count; ++field) {
    const float* const from_field = fields.data() + field * values;
    float* const to_field = whole.data() + field * box.grid_points() * channels;
    box.for_lines([&](std::int64_t from, std::int64_t to) {
      std::copy_n(from_field + from * channels, box.count[2] * channels, to_field + to * channels);
    });
  }
}

std::size_t DividedRollouts::column_of_whole(std::size_t column, std::int64_t channels) const {
  const GridBox& box = of_rank_[static_cast<std::size_t>(rank_ % boxes())];
  const auto width = static_cast<std::size_t>(channels);
  const std::int64_t point = box.point_of_grid(static_cast<std::int64_t>(column / width));
  return static_cast<std::size_t>(point) * width + column % width;
}

}  // namespace mylos
