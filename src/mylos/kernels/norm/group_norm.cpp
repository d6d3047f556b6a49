#include "mylos/kernels/norm/group_norm.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/norm/point_norm.hpp"

namespace mylos {
namespace {

point_norm::Shape shape_of(const GridShape& grid, std::int64_t groups, std::int64_t samples) {
  return {samples, 1, grid.points(), grid.channels, groups};
}

struct GroupNormPieces {
  GroupNormPieces(const point_norm::Shape& shape, void* workspace) : pieces(workspace) {
    blocks = pieces.take<float>(shape.block_floats());
    mean_g = pieces.take<float>(shape.statistics());
    mean_gn = pieces.take<float>(shape.statistics());
  }

  Pieces pieces;
  float* blocks;
  float* mean_g;
  float* mean_gn;
};

void find_statistics(const Execution& exec, const point_norm::Shape& shape, const ConstTensor& x, float* mean,
                     float* rstd, float epsilon, float* blocks) {
  dispatch(x.type(), [&]<class T>(TypeTag<T>) { point_norm::block_moments(exec, shape, x.as<T>(), blocks); });
  const auto count = static_cast<double>(shape.points() * shape.group_channels());
  point_norm::add_moments(
      exec, shape, blocks, KOKKOS_LAMBDA(std::int64_t index, double sum, double squares) {
        const point_norm::Statistics of_group = point_norm::statistics(sum, squares, count, epsilon);
        mean[index] = of_group.mean;
        rstd[index] = of_group.rstd;
      });
}

template <class W>
void find_gradient_means(const Execution& exec, const point_norm::Shape& shape, const W* gamma,
                         const GroupNormPieces& workspace) {
  const double share = 1.0 / static_cast<double>(shape.points() * shape.group_channels());
  float* const mean_g = workspace.mean_g;
  float* const mean_gn = workspace.mean_gn;
  point_norm::add_group_gradients(
      exec, shape, workspace.blocks, KOKKOS_LAMBDA(std::int64_t channel) { return to_float(gamma[channel]); },
      KOKKOS_LAMBDA(std::int64_t index, double sum, double normalized) {
        mean_g[index] = static_cast<float>(sum * share);
        mean_gn[index] = static_cast<float>(normalized * share);
      });
}

template <class W>
void sum_group_gradients(const Execution& exec, const point_norm::Shape& shape, const W* gamma,
                         const float* blocks, double* sums) {
  point_norm::add_group_gradients(
      exec, shape, blocks, KOKKOS_LAMBDA(std::int64_t channel) { return to_float(gamma[channel]); },
      KOKKOS_LAMBDA(std::int64_t index, double sum, double normalized) {
        sums[2 * index] = sum;
        sums[2 * index + 1] = normalized;
      });
}

}  // namespace

void check_group_norm(const GridShape& grid, std::int64_t groups) {
  check_grid(grid, "group normalisation's grid");
  if (groups < 1 || grid.channels % groups != 0)
    fail_input(errors::bad_layer,
               "group normalisation of {} channels in {} groups: the groups must divide them", grid.channels,
               groups);
  if (grid.points() * (grid.channels / groups) == 1)
    fail_input(
        errors::bad_layer,
        "group normalisation of {} channels in {} groups: a group has one value, which becomes 0; use fewer "
        "groups",
        grid.channels, groups);
}

std::size_t group_norm_workspace(const GridShape& grid, std::int64_t groups, std::int64_t samples) {
  return GroupNormPieces(shape_of(grid, groups, samples), nullptr).pieces.bytes();
}

void group_norm_forward(const Execution& exec, const GridShape& grid, std::int64_t groups,
                        const ConstTensor& x, const ConstTensor& gamma, const ConstTensor& beta,
                        const Tensor& y, float* mean, float* rstd, float epsilon, void* workspace) {
  const point_norm::Shape shape = shape_of(grid, groups, x.rows());
  find_statistics(exec, shape, x, mean, rstd, epsilon, GroupNormPieces(shape, workspace).blocks);
  dispatch_pair(x.type(), gamma.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    point_norm::apply(exec, shape, x.as<T>(), gamma.as<W>(), beta.empty() ? nullptr : beta.as<W>(), mean,
                      rstd, y.as<T>());
  });
}

void group_norm_backward(const Execution& exec, const GridShape& grid, std::int64_t groups,
                         const ConstTensor& x, const ConstTensor& dy, const ConstTensor& gamma,
                         const float* mean, const float* rstd, const Tensor& dx, const Tensor& dgamma,
                         const Tensor& dbeta, bool accumulate, void* workspace) {
  const point_norm::Shape shape = shape_of(grid, groups, x.rows());
  const GroupNormPieces pieces(shape, workspace);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    point_norm::block_gradients(exec, shape, x.as<T>(), dy.as<T>(), mean, rstd, pieces.blocks);
  });
  point_norm::add_gradients(exec, shape, pieces.blocks, dgamma, dbeta, accumulate);
  dispatch_pair(x.type(), gamma.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    const W* const factors = gamma.as<W>();
    find_gradient_means(exec, shape, factors, pieces);
    point_norm::input_gradient(exec, shape, x.as<T>(), dy.as<T>(), factors, mean, rstd, pieces.mean_g,
                               pieces.mean_gn, dx.as<T>());
  });
}

void group_norm_sum(const Execution& exec, const GridShape& box, std::int64_t groups, const ConstTensor& x,
                    double* sums, void* workspace) {
  const point_norm::Shape shape = shape_of(box, groups, x.rows());
  float* const blocks = GroupNormPieces(shape, workspace).blocks;
  dispatch(x.type(), [&]<class T>(TypeTag<T>) { point_norm::block_moments(exec, shape, x.as<T>(), blocks); });
  point_norm::add_moments(
      exec, shape, blocks, KOKKOS_LAMBDA(std::int64_t index, double sum, double squares) {
        sums[2 * index] = sum;
        sums[2 * index + 1] = squares;
      });
}

void group_norm_apply(const Execution& exec, const GridShape& box, std::int64_t groups, std::int64_t values,
                      const ConstTensor& x, const ConstTensor& gamma, const ConstTensor& beta,
                      const double* sums, float epsilon, const Tensor& y, float* mean, float* rstd) {
  const point_norm::Shape shape = shape_of(box, groups, x.rows());
  const auto count = static_cast<double>(values);
  for_each_element(
      exec, "group_moments", shape.statistics(), KOKKOS_LAMBDA(std::int64_t index) {
        const point_norm::Statistics of_group =
            point_norm::statistics(sums[2 * index], sums[2 * index + 1], count, epsilon);
        mean[index] = of_group.mean;
        rstd[index] = of_group.rstd;
      });
  dispatch_pair(x.type(), gamma.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    point_norm::apply(exec, shape, x.as<T>(), gamma.as<W>(), beta.empty() ? nullptr : beta.as<W>(), mean,
                      rstd, y.as<T>());
  });
}

void group_norm_sum_gradients(const Execution& exec, const GridShape& box, std::int64_t groups,
                              const ConstTensor& x, const ConstTensor& dy, const ConstTensor& gamma,
                              const float* mean, const float* rstd, double* sums, const Tensor& dgamma,
                              const Tensor& dbeta, bool accumulate, void* workspace) {
  const point_norm::Shape shape = shape_of(box, groups, x.rows());
  const GroupNormPieces pieces(shape, workspace);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    point_norm::block_gradients(exec, shape, x.as<T>(), dy.as<T>(), mean, rstd, pieces.blocks);
  });
  point_norm::add_gradients(exec, shape, pieces.blocks, dgamma, dbeta, accumulate);
  dispatch(gamma.type(), [&]<class W>(TypeTag<W>) {
    sum_group_gradients(exec, shape, gamma.as<W>(), pieces.blocks, sums);
  });
}

void group_norm_input_gradient(const Execution& exec, const GridShape& box, std::int64_t groups,
                               std::int64_t values, const ConstTensor& x, const ConstTensor& dy,
                               const ConstTensor& gamma, const float* mean, const float* rstd,
                               const double* sums, const Tensor& dx, void* workspace) {
  const point_norm::Shape shape = shape_of(box, groups, x.rows());
  const GroupNormPieces pieces(shape, workspace);
  float* const mean_g = pieces.mean_g;
  float* const mean_gn = pieces.mean_gn;
  const double share = 1.0 / static_cast<double>(values);
  for_each_element(
      exec, "gradient_means", shape.statistics(), KOKKOS_LAMBDA(std::int64_t index) {
        mean_g[index] = static_cast<float>(sums[2 * index] * share);
        mean_gn[index] = static_cast<float>(sums[2 * index + 1] * share);
      });
  dispatch_pair(x.type(), gamma.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    point_norm::input_gradient(exec, shape, x.as<T>(), dy.as<T>(), gamma.as<W>(), mean, rstd, mean_g, mean_gn,
                               dx.as<T>());
  });
}

}  // namespace mylos
