// The maximum over windows, and its gradient.
#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/grid/pool_stages.hpp"
#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/kernels/grid/window_rows.hpp"

namespace mylos {
namespace {

/// Returns true if `value` replaces the largest value so far. Equal values do not, and NaN is never replaced.
KOKKOS_FORCEINLINE_FUNCTION bool is_larger(float value, float largest) {
  const bool not_less = !(value <= largest);  // true also for NaN
  return not_less & (largest == largest);     // NOLINT: branch-free
}

/// Writes values that were read from elements of this type, without rounding.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write_back(const float* values, std::int64_t count, T* to) {
  if constexpr (runs_on_host && std::is_same_v<T, bfloat16>) {
    for_each_in_tile(count, [=](std::int64_t i) { to[i] = from_float<T>(values[i]); });  // keeps subnormals
  } else {
    write_tile(values, count, to);
  }
}

/// Returns the same if taps are not visited in their order: among equal values, and among NaN, the first tap
/// wins.
KOKKOS_FORCEINLINE_FUNCTION bool is_larger(float value, Tap tap, float largest, Tap tap_of_largest) {
  const bool are_nan = (value != value) & (largest != largest);                // NOLINT
  const bool first = ((value == largest) | are_nan) & (tap < tap_of_largest);  // NOLINT
  return is_larger(value, largest) | first;                                    // NOLINT
}

KOKKOS_FORCEINLINE_FUNCTION bool is_first_maximum(float value, float largest, std::int32_t is_free) {
  const bool are_nan = (value != value) & (largest != largest);  // NOLINT: branch-free
  return ((value == largest) | are_nan) & (is_free != 0);        // NOLINT
}

KOKKOS_FORCEINLINE_FUNCTION void write_taps(const Tap* taps, std::int64_t count, Tap* to) {
  if constexpr (runs_on_host) {
    for_each_in_tile(count, [=](std::int64_t i) { to[i] = taps[i]; });
  } else {
    device_tile::Elements<Tap> all{};
    for_each_in_tile(count, [&](std::int64_t i) { all.element[i] = taps[i]; });
    device_tile::store(all, count, to);
  }
}

template <class T>
void max_along(const Execution& exec, const PoolLine& line, std::int64_t samples, const T* x, T* y) {
  for_each_pool_tile(
      exec, "max_pool", samples * line.lines, line.axis.windows, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const T* const from = x + tile.line * line.inputs();
        float largest[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) { largest[i] = -INFINITY; });
        for_each_tap(line, tile, [&](std::int64_t, const PoolRun& run) {
          for_each_in_run(run, from, [&](std::int64_t i, std::int64_t, float value) {
            largest[i] = is_larger(value, largest[i]) ? value : largest[i];
          });
        });
        write_back(largest, tile.count, y + tile.line * line.outputs() + tile.first);
      });
}

/// Computes the first stage. Writes the tap of each window's first maximum, or first NaN, to `taps`; y may be
/// null.
template <class T>
void find_maxima(const Execution& exec, const PoolLine& line, std::int64_t pitch, std::int64_t samples,
                 const T* x, T* y, Tap* taps) {
  for_each_pool_tile(
      exec, "max_pool_taps", samples * line.lines, line.axis.windows, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const T* const from = x + tile.line * line.inputs();
        const std::int64_t at = tile.line * line.outputs() + tile.first;
        float largest[tile_width];
        Tap where[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) { largest[i] = -INFINITY; });
        for_each_alike(line, tile.first, tile.count, 1, tile.position,
                       [&](std::int64_t offset, std::int64_t count, std::int64_t window) {
                         const std::int64_t beyond = line.axis.padding - window * line.axis.stride;
                         const auto first_tap = static_cast<Tap>(beyond < 0 ? 0 : beyond * pitch);
                         for_each_in_tile(count, [&](std::int64_t i) { where[offset + i] = first_tap; });
                       });
        for_each_tap(line, tile, [&](std::int64_t tap, const PoolRun& run) {
          const auto number = static_cast<Tap>(tap * pitch);
          for_each_in_run(run, from, [&](std::int64_t i, std::int64_t, float value) {
            const bool larger = is_larger(value, largest[i]);
            largest[i] = larger ? value : largest[i];
            where[i] = larger ? number : where[i];
          });
        });
        if (y != nullptr) write_back(largest, tile.count, y + at);
        write_taps(where, tile.count, taps + at);
      });
}

/// Computes a later stage. `taps_before` belong to x.
template <class T>
void find_later_maxima(const Execution& exec, const PoolLine& line, std::int64_t pitch, std::int64_t samples,
                       const T* x, const Tap* taps_before, T* y, Tap* taps) {
  for_each_pool_tile(
      exec, "max_pool_taps", samples * line.lines, line.axis.windows, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const T* const from = x + tile.line * line.inputs();
        const Tap* const before = taps_before + tile.line * line.inputs();
        const std::int64_t at = tile.line * line.outputs() + tile.first;
        float largest[tile_width];
        Tap where[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) {
          largest[i] = -INFINITY;
          where[i] = static_cast<Tap>(max_taps);
        });
        for_each_tap(line, tile, [&](std::int64_t tap, const PoolRun& run) {
          const auto number = static_cast<Tap>(tap * pitch);
          for_each_in_run(run, from, [&](std::int64_t i, std::int64_t element, float value) {
            const Tap point_tap = before[element] + number;
            const bool larger = is_larger(value, point_tap, largest[i], where[i]);
            largest[i] = larger ? value : largest[i];
            where[i] = larger ? point_tap : where[i];
          });
        });
        if (y != nullptr) write_back(largest, tile.count, y + at);
        write_taps(where, tile.count, taps + at);
      });
}

/// Adds a window's gradient to the point of its maximum. The first stage has no previous taps.
template <bool is_first, class From, class To>
void max_gradient_along(const Execution& exec, const PoolLine& line, std::int64_t pitch, std::int64_t samples,
                        const Tap* taps_before, const Tap* taps, const From* dy, To* dx) {
  for_each_pool_tile(
      exec, "d_max_pool", samples * line.lines, line.axis.points, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const std::int64_t windows = tile.line * line.outputs();
        const std::int64_t at = tile.line * line.inputs() + tile.first;
        const Tap* const before = is_first ? taps : taps_before + at;  // not read in the first stage
        const Tap* const maximum = taps + windows;
        float sum[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for_each_seeing(line, tile, [&](std::int64_t tap, const PoolRun& run) {
          const auto number = static_cast<Tap>(tap * pitch);
          for_each_in_run(run, dy + windows, [&](std::int64_t i, std::int64_t from, float gradient) {
            const Tap point_tap = is_first ? number : before[i] + number;
            sum[i] += maximum[from] == point_tap ? gradient : 0.0f;
          });
        });
        write_tile(sum, tile.count, dx + at);
      });
}

/// Computes the same in the first stage on hosts if points have few elements: loops over windows in their
/// order instead of over their taps, each of which would process only a few elements. Taps are counted along
/// this axis.
template <class From, class To>
void scatter_max_gradient(const Execution& exec, const PoolLine& line, std::int64_t samples, const Tap* taps,
                          const From* dy, To* dx) {
  for_each_pool_tile(
      exec, "d_max_pool", samples * line.lines, line.axis.points, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const Tap* const maximum = taps + tile.line * line.outputs();
        const From* const gradient = dy + tile.line * line.outputs();
        const std::int64_t first_window = line.axis.seeing(tile.first / line.inner).begin;
        const std::int64_t end_window = line.axis.seeing((tile.first + tile.count - 1) / line.inner).end;
        float sum[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for (std::int64_t window = first_window; window < end_window; ++window) {
          const std::int64_t begin =
              (window * line.axis.stride - line.axis.padding) * line.inner - tile.first;
          for (std::int64_t channel = 0; channel < line.inner; ++channel) {
            const std::int64_t element = window * line.inner + channel;
            const std::int64_t to = begin + maximum[element] * line.inner + channel;
            if (to >= 0 && to < tile.count) sum[to] += to_float(gradient[element]);
          }
        }
        write_tile(sum, tile.count, dx + tile.line * line.inputs() + tile.first);
      });
}

template <class T>
void max_by_windows(const Execution& exec, const WindowRows& rows, std::int64_t samples, const T* x, T* y) {
  for_each_pool_tile(
      exec, "max_pool", samples * rows.rows_of_sample(), rows.line.axis.windows, rows.line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const PoolLine& line = rows.line;
        float largest[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) { largest[i] = -INFINITY; });
        rows.for_each_row(tile.line, [&](std::int64_t row) {
          for_each_tap(line, tile, [&](std::int64_t, const PoolRun& run) {
            for_each_in_run(run, x + row * line.inputs(), [&](std::int64_t i, std::int64_t, float value) {
              largest[i] = is_larger(value, largest[i]) ? value : largest[i];
            });
          });
        });
        write_back(largest, tile.count, y + tile.line * line.outputs() + tile.first);
      });
}

/// Each window searches for its maximum y again and writes the gradients of its points.
template <class T>
void max_gradient_by_windows(const Execution& exec, const WindowRows& rows, std::int64_t samples, const T* x,
                             const T* y, const T* dy, T* dx) {
  for_each_pool_tile(
      exec, "d_max_pool", samples * rows.rows_of_sample(), rows.line.axis.windows, rows.line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const PoolLine& line = rows.line;
        const std::int64_t at = tile.line * line.outputs() + tile.first;
        float largest[tile_width];
        float gradient[tile_width];
        std::int32_t is_free[tile_width];
        copy_tile(y + at, tile.count, largest);
        copy_tile(dy + at, tile.count, gradient);
        for_each_in_tile(tile.count, [&](std::int64_t i) { is_free[i] = 1; });
        rows.for_each_row(tile.line, [&](std::int64_t row) {
          for_each_tap(line, tile, [&](std::int64_t, const PoolRun& run) {
            float part[tile_width];
            for_each_in_run(run, x + row * line.inputs(), [&](std::int64_t i, std::int64_t, float value) {
              const bool hit = is_first_maximum(value, largest[i], is_free[i]);
              is_free[i] = hit ? 0 : is_free[i];
              part[i - run.to] = hit ? gradient[i] : 0.0f;
            });
            write_tile(part, run.count, dx + row * line.inputs() + run.from);
          });
        });
      });
}

/// Returns the input of a stage, which is the output of the previous one.
template <class T>
const T* values_before(std::size_t stage, const T* x, const PoolBuffers& buffers) {
  return stage == 0 ? x : reinterpret_cast<const T*>(buffers.values[stage - 1]);
}

}  // namespace

void max_pool_forward(const Execution& exec, const PoolShape& shape, const ConstTensor& x, const Tensor& y,
                      void* workspace) {
  check_pool_matrices(shape, x, y);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    if (takes_maxima_by_windows(shape)) {
      for_window_rows(shape, x.rows(), [&](const WindowRows& rows, std::int64_t first, std::int64_t count) {
        max_by_windows(exec, rows, count, x.as<T>() + first * x.columns(), y.as<T>() + first * y.columns());
      });
      return;
    }
    const auto pool = [&](const PoolStages& stages, const PoolBuffers& buffers, std::int64_t first,
                          std::int64_t count) {
      for (std::size_t stage = 0; stage < stages.count(); ++stage) {
        T* const to = stage + 1 == stages.count() ? y.as<T>() + first * y.columns()
                                                  : reinterpret_cast<T*>(buffers.values[stage]);
        max_along(exec, stages[stage], count,
                  values_before<T>(stage, x.as<T>() + first * x.columns(), buffers), to);
      }
    };
    pool_samples(shape, PoolNeeds::max_forward(x.type()), x.rows(), workspace, pool);
  });
}

void max_pool_backward(const Execution& exec, const PoolShape& shape, const ConstTensor& x,
                       const ConstTensor& y, const ConstTensor& dy, const Tensor& dx, void* workspace) {
  if (max_pool_reads_output(shape)) check_pool_matrices(shape, x, y);
  check_pool_matrices(shape, x, dy);
  check_pool_matrices(shape, dx, dy);
  if (pools_by_windows(shape)) {
    if (!all_points_seen(shape)) fill(exec, dx, 0);
    dispatch(x.type(), [&]<class T>(TypeTag<T>) {
      for_window_rows(shape, x.rows(), [&](const WindowRows& rows, std::int64_t first, std::int64_t count) {
        const std::int64_t inputs = first * x.columns();
        const std::int64_t outputs = first * y.columns();
        max_gradient_by_windows(exec, rows, count, x.as<T>() + inputs, y.as<T>() + outputs,
                                dy.as<T>() + outputs, dx.as<T>() + inputs);
      });
    });
    return;
  }
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    const auto pool = [&](const PoolStages& stages, const PoolBuffers& buffers, std::int64_t first,
                          std::int64_t count) {
      const T* const input = x.as<T>() + first * x.columns();
      for (std::size_t stage = 0; stage < stages.count(); ++stage) {
        const PoolLine& line = stages[stage];
        T* const values = stage + 1 == stages.count() ? nullptr : reinterpret_cast<T*>(buffers.values[stage]);
        if (stage == 0) {
          find_maxima(exec, line, stages.pitch(stage), count, input, values, buffers.taps[stage]);
        } else {
          find_later_maxima(exec, line, stages.pitch(stage), count, values_before<T>(stage, input, buffers),
                            buffers.taps[stage - 1], values, buffers.taps[stage]);
        }
      }
      pass_gradients<T>(stages, buffers, dy.as<T>() + first * dy.columns(), dx.as<T>() + first * dx.columns(),
                        [&](std::size_t stage, const auto* from, auto* to) {
                          const PoolLine& line = stages[stage];
                          const std::int64_t pitch = stages.pitch(stage);
                          const Tap* const taps = buffers.taps[stage];
                          if (stage == 0 && runs_on_host && pitch == 1 && line.axis.stride > 1 &&
                              line.inner <= few_channels) {
                            scatter_max_gradient(exec, line, count, taps, from, to);
                          } else if (stage == 0) {
                            max_gradient_along<true>(exec, line, pitch, count, nullptr, taps, from, to);
                          } else {
                            max_gradient_along<false>(exec, line, pitch, count, buffers.taps[stage - 1], taps,
                                                      from, to);
                          }
                        });
    };
    pool_samples(shape, PoolNeeds::max_backward(x.type()), x.rows(), workspace, pool);
  });
}

}  // namespace mylos
