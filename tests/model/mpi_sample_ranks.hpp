// The ranks of MPI_COMM_WORLD as those of one sample, by blocking calls through host memory; and the boxes
// that they hold.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "mylos/base/execution.hpp"
#include "mylos/base/grid_part.hpp"
#include "mylos/base/numbers/binary_tree.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/sample_ranks.hpp"
#include "support/device_values.hpp"

namespace mylos::test {

inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Returns the part of box `index` of boxes numbered row-major.
inline GridPart part_at(const Extents& boxes, std::int64_t index) {
  return {.boxes = boxes,
          .at = {index / (boxes[1] * boxes[2]), index / boxes[2] % boxes[1], index % boxes[2]}};
}

/// Returns this rank's part of every division into as many boxes as there are ranks.
inline std::vector<GridPart> own_parts() {
  std::vector<GridPart> parts;
  const std::int64_t world = world_size();
  for (std::int64_t depth = 1; depth <= world; ++depth) {
    for (std::int64_t height = 1; depth * height <= world; ++height) {
      if (world % (depth * height) != 0) continue;
      parts.push_back(part_at({depth, height, world / (depth * height)}, world_rank()));
    }
  }
  return parts;
}

inline bool divides(const GridPart& part, const Extents& extent) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (extent[axis] % part.all_units(axis) != 0) return false;
  return true;
}

inline GridShape box_of(GridShape grid, const GridPart& part) {
  for (std::size_t axis = 0; axis < 3; ++axis) grid.extent[axis] = part.own_extent(axis, grid.extent[axis]);
  return grid;
}

/// Returns the box's numbers of samples of the whole grid.
inline std::vector<float> cropped(const std::vector<float>& values, const GridShape& grid,
                                  const GridPart& part) {
  const GridShape box = box_of(grid, part);
  const auto samples = static_cast<std::int64_t>(values.size()) / grid.columns();
  std::vector<float> result;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t point = 0; point < box.points(); ++point) {
      const Extents at = {point / (box.extent[1] * box.extent[2]), point / box.extent[2] % box.extent[1],
                          point % box.extent[2]};
      std::int64_t from = sample;
      for (std::size_t axis = 0; axis < 3; ++axis)
        from = from * grid.extent[axis] + part.first_point(axis, grid.extent[axis]) + at[axis];
      for (std::int64_t channel = 0; channel < grid.channels; ++channel)
        result.push_back(values[static_cast<std::size_t>(from * grid.channels + channel)]);
    }
  }
  return result;
}

/// Returns the sum over the ranks of each number.
inline std::vector<double> summed(std::vector<double> values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  return values;
}

/// Returns the sum over the ranks of each number, by the binary tree.
inline std::vector<float> summed_by_tree(const std::vector<float>& values) {
  const std::size_t count = values.size();
  std::vector<float> all(count * static_cast<std::size_t>(world_size())), sums(count);
  MPI_Allgather(values.data(), static_cast<int>(count), MPI_FLOAT, all.data(), static_cast<int>(count),
                MPI_FLOAT, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = sum_by_tree<float>(world_size(),
                                 [&](int rank) { return all[static_cast<std::size_t>(rank) * count + i]; });
  return sums;
}

/// One rank that has whole samples.
class OwnSamples final : public SampleRanks {
 public:
  void exchange_faces(const Execution& exec, std::size_t, bool periodic, const ConstTensor& sent,
                      const Tensor& received) override {
    exec.fence();
    const std::size_t bytes = sent.bytes() / 2;
    std::vector<std::byte> out(2 * bytes), in(2 * bytes);
    copy_to_host(sent.data(), out.data(), out.size());
    if (periodic)
      std::rotate_copy(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes), out.end(), in.begin());
    copy_to_device(in.data(), received.data(), in.size());
  }
  void add_up(const Execution&, const Tensor&) override {}
};

class MpiSampleRanks final : public SampleRanks {
 public:
  explicit MpiSampleRanks(const GridPart& part) : part_(part) {}

  void exchange_faces(const Execution& exec, std::size_t axis, bool periodic, const ConstTensor& sent,
                      const Tensor& received) override {
    exec.fence();
    const std::size_t bytes = sent.bytes() / 2;
    largest.faces = std::max(largest.faces, sent.bytes());
    calls.push_back({.bytes = bytes, .axis = axis, .periodic = periodic});
    std::vector<std::byte> out(2 * bytes), in(2 * bytes);
    copy_to_host(sent.data(), out.data(), out.size());
    const int lower = neighbour(axis, -1, periodic);
    const int upper = neighbour(axis, 1, periodic);
    const auto count = static_cast<int>(bytes);
    MPI_Sendrecv(out.data(), count, MPI_BYTE, lower, 0, in.data() + bytes, count, MPI_BYTE, upper, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out.data() + bytes, count, MPI_BYTE, upper, 1, in.data(), count, MPI_BYTE, lower, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    copy_to_device(in.data(), received.data(), in.size());
  }
  void add_up(const Execution& exec, const Tensor& doubles) override {
    exec.fence();
    const auto count = static_cast<std::size_t>(doubles.size());
    const auto world = static_cast<std::size_t>(world_size());
    largest.sums = std::max(largest.sums, doubles.bytes());
    calls.push_back({.bytes = doubles.bytes(), .is_sum = true});
    std::vector<double> own(count), all(count * world);
    copy_to_host(doubles.data(), own.data(), count * sizeof(double));
    MPI_Allgather(own.data(), static_cast<int>(count), MPI_DOUBLE, all.data(), static_cast<int>(count),
                  MPI_DOUBLE, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < count; ++i) {
      own[i] = sum_by_tree<double>(static_cast<int>(world),
                                   [&](int rank) { return all[static_cast<std::size_t>(rank) * count + i]; });
    }
    copy_to_device(own.data(), doubles.data(), count * sizeof(double));
  }

  // Exchanges so far.
  SampleExchangeSizes largest;
  std::vector<SampleCall> calls;

 private:
  [[nodiscard]] int neighbour(std::size_t axis, std::int64_t step, bool periodic) const {
    Extents at = part_.at;
    at[axis] += step;
    if (!periodic && (at[axis] < 0 || at[axis] >= part_.boxes[axis])) return MPI_PROC_NULL;
    at[axis] = (at[axis] + part_.boxes[axis]) % part_.boxes[axis];
    return static_cast<int>((at[0] * part_.boxes[1] + at[1]) * part_.boxes[2] + at[2]);
  }

  GridPart part_;
};

}  // namespace mylos::test
