#include "mylos/kernels/pooling.hpp"

#include "mylos/base/error.hpp"
#include "pool_stages.hpp"

namespace mylos {
namespace {

void check_matrices(const PoolShape& shape, const Tensor& input, const Tensor& output) {
  const std::int64_t columns = output_grid(shape).columns();
  if (input.rows() == output.rows() && input.columns() == shape.input.columns() &&
      output.columns() == columns && input.type() == output.type())
    return;
  fail_run("pooling from {} x {} of {} to {} x {} of {}: the columns must be {} and {}, rows and types equal",
           input.rows(), input.columns(), name_of(input.type()), output.rows(), output.columns(),
           name_of(output.type()), shape.input.columns(), columns);
}

/// Whether `value` takes the place of the largest value before it, which keeps it where both are equal or it
/// is NaN.
KOKKOS_FORCEINLINE_FUNCTION bool is_larger(float value, float largest) {
  const bool not_less = !(value <= largest);  // or NaN
  return not_less & (largest == largest);     // NOLINT: without a branch
}

/// What was read from elements of that type, exactly.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write_back(const float* values, std::int64_t count, T* to) {
  if constexpr (runs_on_host && std::is_same_v<T, bfloat16>) {
    for_each_in_tile(count, [=](std::int64_t i) { to[i] = from_float<T>(values[i]); });  // subnormals too
  } else {
    write_tile(values, count, to);
  }
}

/// The same where taps do not come in their order: of equal values and of NaN the first tap's counts.
KOKKOS_FORCEINLINE_FUNCTION bool is_larger(float value, Tap tap, float largest, Tap tap_of_largest) {
  const bool are_nan = (value != value) & (largest != largest);                // NOLINT
  const bool first = ((value == largest) | are_nan) & (tap < tap_of_largest);  // NOLINT
  return is_larger(value, largest) | first;                                    // NOLINT
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

/// The first stage: `taps` says where each window has its first maximum, or its first NaN; y may be null.
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
        for_each_alike(line, tile.first, tile.count, tile.place,
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

/// A later stage: `taps_before` are those of x.
template <class T>
void find_maxima_again(const Execution& exec, const PoolLine& line, std::int64_t pitch, std::int64_t samples,
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
            const Tap own = before[element] + number;
            const bool larger = is_larger(value, own, largest[i], where[i]);
            largest[i] = larger ? value : largest[i];
            where[i] = larger ? own : where[i];
          });
        });
        if (y != nullptr) write_back(largest, tile.count, y + at);
        write_taps(where, tile.count, taps + at);
      });
}

/// A window's gradient goes to the point whose tap it has: taps_before are null of the first stage.
template <class From, class To>
void max_gradient_along(const Execution& exec, const PoolLine& line, std::int64_t pitch, std::int64_t samples,
                        const Tap* taps_before, const Tap* taps, const From* dy, To* dx) {
  for_each_pool_tile(
      exec, "d_max_pool", samples * line.lines, line.axis.points, line.inner,
      KOKKOS_LAMBDA(const PoolTile& tile) {
        const std::int64_t windows = tile.line * line.outputs();
        const std::int64_t at = tile.line * line.inputs() + tile.first;
        const Tap* const maximum = taps + windows;
        float sum[tile_width];
        Tap before[tile_width];
        for_each_in_tile(tile.count, [&](std::int64_t i) {
          sum[i] = 0.0f;
          before[i] = taps_before == nullptr ? 0 : taps_before[at + i];
        });
        for_each_seeing(line, tile, [&](std::int64_t tap, const PoolRun& run) {
          const auto number = static_cast<Tap>(tap * pitch);
          for_each_in_run(run, dy + windows, [&](std::int64_t i, std::int64_t from, float gradient) {
            sum[i] += maximum[from] == before[i] + number ? gradient : 0.0f;
          });
        });
        write_tile(sum, tile.count, dx + at);
      });
}

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
        for_each_alike(line, tile.first, tile.count, tile.place,
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
          for_each_alike(line, run.from, run.count, run.place,
                         [&](std::int64_t offset, std::int64_t count, std::int64_t window) {
                           const float share = 1.0f / static_cast<float>(line.axis.seen(window).count());
                           PoolRun part = run;
                           part.to += offset * run.to_step;
                           part.from += offset;
                           part.count = count;
                           for_each_in_run(part, from, [&](std::int64_t i, std::int64_t, float gradient) {
                             sum[i] += gradient * share;
                           });
                         });
        });
        write_tile(sum, tile.count, dx + tile.line * line.inputs() + tile.first);
      });
}

/// What a stage but the last one gives, which is the next one's input.
template <class T>
const T* values_before(std::size_t stage, const T* x, const PoolBuffers& buffers) {
  return stage == 0 ? x : reinterpret_cast<const T*>(buffers.values[stage - 1]);
}

/// along(stage, from, to) from the last stage to the first: gradients of type T at both ends, floats between.
template <class T, class Along>
void pass_gradients(const PoolStages& stages, const PoolBuffers& buffers, const T* dy, T* dx,
                    const Along& along) {
  const auto pass = [&](std::size_t stage, const auto* from) {
    if (stage == 0) return along(stage, from, dx);
    along(stage, from, buffers.gradients[stage - 1]);
  };
  const std::size_t last = stages.count() - 1;
  pass(last, dy);
  for (std::size_t stage = last; stage-- > 0;)
    pass(stage, const_cast<const float*>(buffers.gradients[stage]));
}

}  // namespace

void max_pool_forward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& y,
                      void* workspace) {
  check_matrices(shape, x, y);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
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

void max_pool_backward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& dy,
                       const Tensor& dx, void* workspace) {
  check_matrices(shape, x, dy);
  check_matrices(shape, dx, dy);
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
          find_maxima_again(exec, line, stages.pitch(stage), count, values_before<T>(stage, input, buffers),
                            buffers.taps[stage - 1], values, buffers.taps[stage]);
        }
      }
      pass_gradients<T>(stages, buffers, dy.as<T>() + first * dy.columns(), dx.as<T>() + first * dx.columns(),
                        [&](std::size_t stage, const auto* from, auto* to) {
                          const Tap* const before = stage == 0 ? nullptr : buffers.taps[stage - 1];
                          max_gradient_along(exec, stages[stage], stages.pitch(stage), count, before,
                                             buffers.taps[stage], from, to);
                        });
    };
    pool_samples(shape, PoolNeeds::max_backward(x.type()), x.rows(), workspace, pool);
  });
}

void average_pool_forward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& y,
                          void* workspace) {
  check_matrices(shape, x, y);
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

void average_pool_backward(const Execution& exec, const PoolShape& shape, const Tensor& dy, const Tensor& dx,
                           void* workspace) {
  check_matrices(shape, dx, dy);
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
