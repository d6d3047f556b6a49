#include "mylos/kernels/norm/batch_norm.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/norm/point_norm.hpp"

namespace mylos {
namespace {

point_norm::Shape shape_of(const GridShape& grid, std::int64_t samples) {
  return {1, samples, grid.points(), grid.channels, grid.channels};
}

void check_matrix(const GridShape& grid, const ConstTensor& x) {
  if (x.columns() == grid.columns()) return;
  fail_run(errors::internal, "batch normalisation of {} columns, but the grid has {}", x.columns(),
           grid.columns());
}

struct BatchNormPieces {
  BatchNormPieces(const GridShape& grid, std::int64_t samples, void* workspace) : pieces(workspace) {
    blocks = pieces.take<float>(shape_of(grid, samples).max_block_floats());
    mean_g = pieces.take<float>(grid.channels);
    mean_gn = pieces.take<float>(grid.channels);
  }

  Pieces pieces;
  float* blocks;
  float* mean_g;
  float* mean_gn;
};

template <class T, class W>
void input_gradient(const Execution& exec, const point_norm::Shape& shape, const ConstTensor& x,
                    const ConstTensor& dy, const ConstTensor& gamma_tensor, const float* mean,
                    const float* rstd, const double* sums, const Tensor& dx,
                    const BatchNormPieces& workspace) {
  const std::int64_t channels = shape.channels;
  const W* const gamma = gamma_tensor.as<W>();
  float* const mean_g = workspace.mean_g;
  float* const mean_gn = workspace.mean_gn;
  for_each_element(
      exec, "gradient_means", channels, KOKKOS_LAMBDA(std::int64_t channel) {
        const double factor = static_cast<double>(to_float(gamma[channel])) / sums[2 * channels];
        mean_g[channel] = static_cast<float>(factor * sums[channel]);
        mean_gn[channel] = static_cast<float>(factor * sums[channels + channel]);
      });
  point_norm::input_gradient(exec, shape, x.as<T>(), dy.as<T>(), gamma, mean, rstd, mean_g, mean_gn,
                             dx.as<T>());
}

}  // namespace

std::size_t batch_norm_workspace(const GridShape& grid, std::int64_t samples) {
  return BatchNormPieces(grid, samples, nullptr).pieces.bytes();
}

void batch_norm_sum(const Execution& exec, const GridShape& grid, const ConstTensor& x, double* sums,
                    double* totals, void* workspace) {
  check_matrix(grid, x);
  const point_norm::Shape shape = shape_of(grid, x.rows());
  const BatchNormPieces pieces(grid, x.rows(), workspace);
  dispatch(x.type(),
           [&]<class T>(TypeTag<T>) { point_norm::block_moments(exec, shape, x.as<T>(), pieces.blocks); });
  const std::int64_t channels = grid.channels;
  const auto points = static_cast<double>(shape.points());
  point_norm::add_moments(
      exec, shape, pieces.blocks, KOKKOS_LAMBDA(std::int64_t channel, double sum, double squares) {
        sums[channel] = sum;
        sums[channels + channel] = squares;
        if (channel == 0) sums[2 * channels] = points;
        if (totals == nullptr) return;
        totals[channel] += sum;
        totals[channels + channel] += squares;
        if (channel == 0) totals[2 * channels] += points;
      });
}

void batch_norm_statistics(const Execution& exec, std::int64_t channels, const double* sums, float epsilon,
                           float* mean, float* rstd) {
  for_each_element(
      exec, "bn_statistics", channels, KOKKOS_LAMBDA(std::int64_t channel) {
        const point_norm::Statistics of_channel =
            point_norm::statistics(sums[channel], sums[channels + channel], sums[2 * channels], epsilon);
        mean[channel] = of_channel.mean;
        rstd[channel] = of_channel.rstd;
      });
}

void batch_norm_update_running(const Execution& exec, std::int64_t channels, const double* sums,
                               float momentum, float* running_mean, float* running_variance,
                               const std::int32_t* apply) {
  for_each_element(
      exec, "bn_running", channels, KOKKOS_LAMBDA(std::int64_t channel) {
        const double count = sums[2 * channels];
        if (*apply == 0 || count == 0) return;
        const double mean = sums[channel] / count;
        const double squares = sums[channels + channel] - mean * sums[channel];
        const double variance =
            count > 1 ? (squares > 0 || squares != squares ? squares : 0.0) / (count - 1) : 0.0;
        running_mean[channel] += momentum * (static_cast<float>(mean) - running_mean[channel]);
        running_variance[channel] += momentum * (static_cast<float>(variance) - running_variance[channel]);
      });
}

void batch_norm_running_rstd(const Execution& exec, std::int64_t channels, const float* running_variance,
                             float epsilon, float* rstd) {
  for_each_element(
      exec, "bn_rstd", channels, KOKKOS_LAMBDA(std::int64_t channel) {
        rstd[channel] = 1.0f / Kokkos::sqrt(running_variance[channel] + epsilon);
      });
}

void batch_norm_apply(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                      const ConstTensor& gamma, const ConstTensor& beta, const float* mean, const float* rstd,
                      const Tensor& y) {
  check_matrix(grid, x);
  dispatch_pair(x.type(), gamma.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    point_norm::apply(exec, shape_of(grid, x.rows()), x.as<T>(), gamma.as<W>(),
                      beta.empty() ? nullptr : beta.as<W>(), mean, rstd, y.as<T>());
  });
}

void batch_norm_sum_gradients(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                              const ConstTensor& dy, const float* mean, const float* rstd, double* sums,
                              const Tensor& dgamma, const Tensor& dbeta, bool accumulate, void* workspace) {
  check_matrix(grid, x);
  const point_norm::Shape shape = shape_of(grid, x.rows());
  const BatchNormPieces pieces(grid, x.rows(), workspace);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    point_norm::block_gradients(exec, shape, x.as<T>(), dy.as<T>(), mean, rstd, pieces.blocks);
  });
  point_norm::add_gradients(exec, shape, pieces.blocks, dgamma, dbeta, accumulate);
  const std::int64_t channels = grid.channels;
  const auto points = static_cast<double>(shape.points());
  point_norm::add_group_gradients(
      exec, shape, pieces.blocks, KOKKOS_LAMBDA(std::int64_t) { return 1.0f; },
      KOKKOS_LAMBDA(std::int64_t channel, double sum, double normalized) {
        sums[channel] = sum;
        sums[channels + channel] = normalized;
        if (channel == 0) sums[2 * channels] = points;
      });
}

void batch_norm_input_gradient(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                               const ConstTensor& dy, const ConstTensor& gamma, const float* mean,
                               const float* rstd, const double* sums, const Tensor& dx, void* workspace) {
  check_matrix(grid, x);
  const BatchNormPieces pieces(grid, x.rows(), workspace);
  dispatch_pair(x.type(), gamma.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    input_gradient<T, W>(exec, shape_of(grid, x.rows()), x, dy, gamma, mean, rstd, sums, dx, pieces);
  });
}

}  // namespace mylos
