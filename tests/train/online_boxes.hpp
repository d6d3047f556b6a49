// A network of samples that ranks divide, and each rank's part of them.
#pragma once

#include <functional>

#include "mylos/comm/ranks/mesh.hpp"
#include "train/own_loss.hpp"

namespace mylos::online_boxes_test {

using namespace online_support;    // NOLINT
using namespace own_loss_support;  // NOLINT

// The width is 7 units of 2 points, which 2 and 3 boxes share unequally. few: samples of a group of ranks
inline constexpr std::int64_t extent[2] = {12, 14}, fields = 2, few = 3;
inline constexpr std::int64_t whole_columns = extent[0] * extent[1] * fields;

/// A U-Net of two levels that keeps statistics of all points: convolutions, a pool and a join.
inline Options field_options(std::vector<std::int64_t> space, NormType norm = NormType::none) {
  Options options = online_options();
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.loss = losses::Mse{};
  options.model.inputs = options.model.outputs = whole_columns;
  options.data.shape = {extent[0], extent[1], fields};
  options.data.micro_batch = 4;
  options.optimizer.type = OptimizerType::sgd;  // Adam would enlarge rounding where a gradient is 0
  options.optimizer.lr = 0.2;
  options.mesh.space = std::move(space);
  std::vector<LayerOptions>& layers = options.model.chain;
  const auto convolution = [&](const char* name, std::int64_t outputs) {
    layers.emplace_back();
    layers.back().kind = kinds::Conv{.kernel = {3}};
    layers.back().name = name;
    layers.back().outputs = outputs;
    layers.back().activation = Activation::tanh;
  };
  convolution("a", 4);
  layers.emplace_back();
  layers.back().kind = kinds::MaxPool{};
  layers.back().name = "pool";
  convolution("b", 6);
  layers.back().norm = norm;
  if (norm == NormType::batchnorm) layers.back().norm_over = NormOver::ranks;
  convolution("up", 4);
  layers.back().kind = kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true};
  layers.emplace_back();
  layers.back().kind = kinds::Concat{};
  layers.back().name = "beside_a";
  layers.back().skip_from = "a";
  convolution("last", fields);
  layers.back().activation = Activation::none;
  return options;
}

/// The ways to divide samples over this run's ranks, with one group of ranks or two.
inline std::vector<std::vector<std::int64_t>> divisions() {
  switch (size_of(MPI_COMM_WORLD)) {
    case 1:
      return {{1, 1}};
    case 2:
      return {{2, 1}, {1, 2}};
    case 3:
      return {{1, 3}};
    default:
      return {{2, 2}, {2, 1}};
  }
}

/// Returns the mesh on a rank. `units`: of the network's grids; those of field_options().
inline Mesh mesh_on(const std::vector<std::int64_t>& space, int rank,
                    std::vector<std::int64_t> units = {6, 7}) {
  return {MeshOptions{.space = space, .units = std::move(units)}, rank, size_of(MPI_COMM_WORLD)};
}

/// Values of all groups' samples at a step.
inline Matrix field_of(std::int64_t samples, std::uint64_t step, const char* what) {
  const Matrix view(what, static_cast<std::size_t>(samples), static_cast<std::size_t>(whole_columns));
  const auto host = Kokkos::create_mirror_view(view);
  const RandomStream stream(5, RandomPurpose::sampling, what);
  for (std::size_t i = 0; i < host.size(); ++i)
    host.data()[i] = 2 * uniform_from(stream.word(step, i, 0)) - 1;
  Kokkos::deep_copy(view, host);
  return view;
}

/// This rank's part of samples: the rows of its group, and of these its box.
struct Part {
  std::int64_t first_row, rows, first[2], count[2];

  Part(const Mesh& mesh, std::int64_t samples) {
    rows = samples / mesh.batch_ranks();
    first_row = mesh.batch_rank() * rows;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      count[axis] = mesh.part().own_extent(axis + 1, extent[axis]);
      first[axis] = mesh.part().first_point(axis + 1, extent[axis]);
    }
  }
  [[nodiscard]] std::int64_t columns() const { return count[0] * count[1] * fields; }
  /// Calls use(index in the part, index in the whole) for every number.
  void for_each(const std::function<void(std::size_t, std::size_t)>& use) const {
    std::size_t index = 0;
    for (std::int64_t row = first_row; row < first_row + rows; ++row)
      for (std::int64_t i = first[0]; i < first[0] + count[0]; ++i)
        for (std::int64_t j = first[1]; j < first[1] + count[1]; ++j)
          for (std::int64_t k = 0; k < fields; ++k)
            use(index++, static_cast<std::size_t>(((row * extent[0] + i) * extent[1] + j) * fields + k));
  }
  [[nodiscard]] Matrix of(const Matrix& whole) const {
    const Matrix part("part", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns()));
    const auto from = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole);
    const auto to = Kokkos::create_mirror_view(part);
    for_each([&](std::size_t own, std::size_t all) { to.data()[own] = from.data()[all]; });
    Kokkos::deep_copy(part, to);
    return part;
  }
  /// The largest difference of this rank's numbers and those of whole samples.
  [[nodiscard]] double difference(const Matrix& own, const Matrix& whole) const {
    const std::vector<float> found = on_host_of(own), expected = on_host_of(whole);
    double largest = 0;
    for_each([&](std::size_t at, std::size_t all) {
      largest = std::max(largest, std::abs(double{found[at]} - double{expected[all]}));
    });
    return largest;
  }
};

}  // namespace mylos::online_boxes_test
