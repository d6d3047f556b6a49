#include "mylos/comm/ranks/mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/numbers/divisors.hpp"

namespace mylos {
namespace {

constexpr std::size_t axes = 3;

/// Returns the index of a box.
std::int64_t box_at(const std::array<std::int64_t, axes>& boxes, const std::array<std::int64_t, axes>& at) {
  return (at[0] * boxes[1] + at[1]) * boxes[2] + at[2];
}

/// Copies the numbers of a grid's axes, which are the last ones.
void copy_axes(const std::vector<std::int64_t>& numbers, std::array<std::int64_t, axes>& to) {
  const std::size_t count = std::min(axes, numbers.size());
  std::copy_n(numbers.begin(), count, to.end() - static_cast<std::ptrdiff_t>(count));
}

/// Throws Error that names the numbers of ranks and of boxes that would do.
[[noreturn]] void fail_ranks(const MeshOptions& options, std::int64_t boxes, int ranks) {
  const std::int64_t fewer = ranks / boxes * boxes;
  std::vector<std::int64_t> right;
  if (fewer > 0) right.push_back(fewer);
  right.push_back(fewer + boxes);
  fail_input(
      errors::wrong_rank_count,
      "mesh.space = [{}] divides each sample over {} ranks, and the {} rank{} of this run are no multiple "
      "of {}; start {} ranks, or divide samples into {} boxes",
      fmt::join(options.space, ", "), boxes, ranks, ranks == 1 ? "" : "s", boxes, alternatives_of(right),
      alternatives_of(divisors_of(ranks)));
}

}  // namespace

Mesh::Mesh(const MeshOptions& options, int rank, int ranks) : rank_(rank), ranks_(ranks) {
  copy_axes(options.space, part_.boxes);
  copy_axes(options.sums, part_.sums);
  copy_axes(options.units, part_.units);
  for (std::size_t axis = 0; axis < axes; ++axis)
    part_.sums[axis] = std::max<std::int64_t>(1, part_.sums[axis] / part_.boxes[axis]);
  if (ranks % part_.count() != 0) fail_ranks(options, part_.count(), ranks);
  part_ = part_of(rank);
}

GridPart Mesh::part_of(int rank) const {
  GridPart part = part_;
  std::int64_t box = rank % part.count();
  for (std::size_t axis = axes; axis-- > 0; box /= part.boxes[axis]) part.at[axis] = box % part.boxes[axis];
  return part;
}

std::optional<int> Mesh::neighbour(std::size_t axis, int direction, bool periodic) const {
  const std::int64_t boxes_along = part_.boxes[axis];
  const std::int64_t next = part_.at[axis] + direction;
  if (!periodic && (next < 0 || next >= boxes_along)) return std::nullopt;
  std::array<std::int64_t, axes> at = part_.at;
  at[axis] = (next + boxes_along) % boxes_along;
  return batch_rank() * boxes() + static_cast<int>(box_at(part_.boxes, at));
}

std::vector<int> Mesh::sample_ranks() const {
  std::vector<int> ranks(static_cast<std::size_t>(boxes()));
  std::iota(ranks.begin(), ranks.end(), batch_rank() * boxes());
  return ranks;
}

}  // namespace mylos
