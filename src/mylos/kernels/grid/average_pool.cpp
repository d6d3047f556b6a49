// The average over windows, and its gradient.
#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/grid/pool_stages.hpp"
#include "mylos/kernels/grid/pooling.hpp"

namespace mylos {
namespace {

template <class From, class To>
void average_along(const Execution& exec, const PoolLine& line, std::int64_t samples, const From* x, To* y) {
  for_each_pool_tile(
      exec, "average_pool", samples * line.lines, line.axis.windows, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const From* const from = x + tile.line * line.inputs();
        float sum[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for_each_tap(line, tile, [&](std::int64_t, const PoolRun& run) {
          for_each_in_run(run, from, [&](std::int64_t i, std::int64_t, float value) { sum[i] += value; });
        });
        for_each_alike(line, tile.first, tile.count, 1, tile.position,
                       [&](std::int64_t offset, std::int64_t count, std::int64_t window) {
                         const auto points = static_cast<float>(line.axis.seen(window).count());
                         for_each_in_tile(count, [&](std::int64_t i) { sum[offset + i] /= points; });
                       });
        write_tile(sum, tile.count, y + tile.line * line.outputs() + tile.first);
      });
}

template <class From, class To>
void average_gradient_along(const Execution& exec, const PoolLine& line, std::int64_t samples, const From* dy,
                            To* dx) {
  for_each_pool_tile(
      exec, "d_average_pool", samples * line.lines, line.axis.points, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const From* const from = dy + tile.line * line.outputs();
        float sum[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for_each_seeing(line, tile, [&](std::int64_t, const PoolRun& run) {
          for_each_alike(line, run.from, run.count, run.from_step, run.position,
                         [&](std::int64_t offset, std::int64_t count, std::int64_t window) {
                           const float share = 1.0f / static_cast<float>(line.axis.seen(window).count());
                           PoolRun part = run;
                           part.to += offset * run.to_step;
                           part.from += offset * run.from_step;
                           part.count = count;
                           for_each_in_run(part, from, [&](std::int64_t i, std::int64_t, float gradient) {
                             sum[i] += gradient * share;
                           });
                         });
        });
        write_tile(sum, tile.count, dx + tile.line * line.inputs() + tile.first);
      });
}

}  // namespace

void average_pool_forward(const Execution& exec, const PoolShape& shape, const ConstTensor& x,
                          const Tensor& y, void* workspace) {
  check_pool_matrices(shape, x, y);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    const auto pool = [&](const PoolStages& stages, const PoolBuffers& buffers, std::int64_t first,
                          std::int64_t count) {
      T* const output = y.as<T>() + first * y.columns();
      const auto along = [&](std::size_t stage, const auto* from) {
        if (stage + 1 == stages.count()) return average_along(exec, stages[stage], count, from, output);
        average_along(exec, stages[stage], count, from, reinterpret_cast<float*>(buffers.values[stage]));
      };
      along(0, x.as<T>() + first * x.columns());
      for (std::size_t stage = 1; stage < stages.count(); ++stage)
        along(stage, reinterpret_cast<const float*>(buffers.values[stage - 1]));
    };
    pool_samples(shape, PoolNeeds::average_forward(), x.rows(), workspace, pool);
  });
}

void average_pool_backward(const Execution& exec, const PoolShape& shape, const ConstTensor& dy,
                           const Tensor& dx, void* workspace) {
  check_pool_matrices(shape, dx, dy);
  dispatch(dy.type(), [&]<class T>(TypeTag<T>) {
    const auto pool = [&](const PoolStages& stages, const PoolBuffers& buffers, std::int64_t first,
                          std::int64_t count) {
      pass_gradients<T>(stages, buffers, dy.as<T>() + first * dy.columns(), dx.as<T>() + first * dx.columns(),
                        [&](std::size_t stage, const auto* from, auto* to) {
                          average_gradient_along(exec, stages[stage], count, from, to);
                        });
    };
    pool_samples(shape, PoolNeeds::average_backward(), dy.rows(), workspace, pool);
  });
}

}  // namespace mylos
