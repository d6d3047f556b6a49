#include "mylos/kernels/grid/pooling.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/grid/pool_stages.hpp"

namespace mylos {
namespace {

// For the samples that are pooled together: enough work for all threads, and on hosts it stays in the caches.
constexpr std::size_t max_workspace = runs_on_host ? std::size_t{4} << 20 : std::size_t{64} << 20;

/// Treats all lines as one if windows neither overlap nor leave points at the end of a line.
void join_lines(PoolLine& line) {
  PoolAxis& axis = line.axis;
  if (axis.padding > 0 || axis.window > axis.stride || axis.points != axis.windows * axis.stride) return;
  axis.points *= line.lines;
  axis.windows *= line.lines;
  line.lines = 1;
}

std::size_t pool_workspace_bytes(const PoolStages& stages, const PoolNeeds& needs, std::int64_t samples) {
  return PoolBuffers(stages, needs, samples_together(stages, needs, samples), nullptr).bytes;
}

}  // namespace

PoolStages::PoolStages(const PoolShape& shape) {
  Extents now = shape.input.extent;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool does_nothing = shape.window[axis] == 1 && shape.stride[axis] == 1;
    if (does_nothing && (axis < 2 || count_ > 0)) continue;
    pitches_[count_] = 1;
    for (std::size_t inside = axis + 1; inside < 3; ++inside) pitches_[count_] *= shape.window[inside];
    PoolLine& line = lines_[count_++];
    line.axis = pool_axis(shape, axis);
    now[axis] = line.axis.windows;
    for (std::size_t outer = 0; outer < axis; ++outer) line.lines *= now[outer];
    line.inner = shape.input.channels;
    for (std::size_t inside = axis + 1; inside < 3; ++inside) line.inner *= now[inside];
    join_lines(line);
  }
}

PoolBuffers::PoolBuffers(const PoolStages& stages, const PoolNeeds& needs, std::int64_t samples,
                         void* workspace) {
  Pieces pieces(workspace);
  for (std::size_t stage = 0; stage < stages.count(); ++stage) {
    const std::int64_t outputs = samples * stages.outputs(stage);
    if (needs.taps) taps[stage] = pieces.take<Tap>(outputs);
    if (stage + 1 == stages.count()) break;
    values[stage] = pieces.take_bytes(static_cast<std::size_t>(outputs) * needs.value_bytes);
    if (needs.gradients) gradients[stage] = pieces.take<float>(outputs);
  }
  bytes = pieces.bytes();
}

PoolAxis pool_axis(const PoolShape& shape, std::size_t axis) {
  PoolAxis result{.points = shape.input.extent[axis],
                  .windows = output_grid(shape).extent[axis],
                  .window = shape.window[axis],
                  .stride = shape.stride[axis],
                  .padding = shape.padding[axis],
                  .stride_of = Divisor(shape.stride[axis])};
  result.all_full =
      result.seen(0).count() == result.window && result.seen(result.windows - 1).count() == result.window;
  return result;
}

bool max_pool_reads_output(const PoolShape& shape) {
  return pools_by_windows(shape);
}

bool all_points_seen(const PoolShape& shape) {
  for (std::size_t i = 0; i < 3; ++i) {
    const PoolAxis axis = pool_axis(shape, i);
    if (axis.stride > axis.window || axis.seen(axis.windows - 1).end < axis.points) return false;
  }
  return true;
}

bool pools_by_windows(const PoolShape& shape) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (shape.window[axis] > shape.stride[axis]) return false;
  return shape.input.channels > few_channels;
}

bool takes_maxima_by_windows(const PoolShape& shape) {
  constexpr std::int64_t max_window = 9;     // points; of larger ones the axes' passes read longer vectors
  constexpr std::int64_t min_channels = 16;  // of a vector
  const auto& [depth, height, width] = shape.window;
  return runs_on_host && pools_by_windows(shape) && depth * height * width <= max_window &&
         shape.input.channels >= min_channels;
}

std::int64_t samples_together(const PoolStages& stages, const PoolNeeds& needs, std::int64_t samples) {
  const std::int64_t all = std::max<std::int64_t>(1, samples);
  const std::size_t bytes = PoolBuffers(stages, needs, 1, nullptr).bytes;
  return bytes == 0 ? all
                    : std::clamp<std::int64_t>(static_cast<std::int64_t>(max_workspace / bytes), 1, all);
}

void check_pool_matrices(const PoolShape& shape, const ConstTensor& input, const ConstTensor& output) {
  const std::int64_t columns = output_grid(shape).columns();
  if (input.rows() == output.rows() && input.columns() == shape.input.columns() &&
      output.columns() == columns && input.type() == output.type())
    return;
  fail_run(errors::internal,
           "pooling from {} x {} of {} to {} x {} of {}: the columns must be {} and {}, rows and types equal",
           input.rows(), input.columns(), name_of(input.type()), output.rows(), output.columns(),
           name_of(output.type()), shape.input.columns(), columns);
}

void check(const PoolShape& shape) {
  check_grid(shape.input, "pooling's input");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t window = shape.window[axis];
    const std::int64_t padding = shape.padding[axis];
    if (window < 1 || window > max_points || shape.stride[axis] < 1 || shape.stride[axis] > max_points) {
      fail_input(errors::bad_layer,
                 "pooling by windows of {} points with stride {} in {}: both must be 1 to {}", window,
                 shape.stride[axis], axis_names[axis], max_points);
    }
    const std::int64_t far = padding + shape.far_padding[axis];
    if (padding < 0 || padding >= window || far < 0 || far >= window) {
      fail_input(errors::bad_layer,
                 "pooling by windows of {} points with padding {} in {}: padding must be less than a window",
                 window, padding, axis_names[axis]);
    }
    if (shape.input.extent[axis] + padding + far < window) {
      fail_input(
          errors::bad_layer,
          "pooling by windows of {} points with padding {} in {}, where the grid has {}: no window fits",
          window, padding, axis_names[axis], shape.input.extent[axis]);
    }
  }
  check_grid(output_grid(shape), "pooling's output");
  const auto& [depth, height, width] = shape.window;
  if (checked_product(checked_product(depth, height, "a pool's window"), width, "a pool's window") > max_taps)
    fail_input(errors::bad_layer, "pooling by windows of {} x {} x {} points: the limit is {} points", depth,
               height, width, max_taps);
}

GridShape output_grid(const PoolShape& shape) {
  GridShape output = shape.input;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t padded = shape.input.extent[axis] + 2 * shape.padding[axis] + shape.far_padding[axis];
    output.extent[axis] = (padded - shape.window[axis]) / shape.stride[axis] + 1;
  }
  return output;
}

double pool_steps(const PoolShape& shape) {
  const PoolStages stages(shape);
  double steps = 0;
  for (std::size_t stage = 0; stage < stages.count(); ++stage)
    steps += static_cast<double>(stages.outputs(stage) * stages[stage].axis.window);
  return steps;
}

PoolWorkspace max_pool_workspace(const PoolShape& shape, DType type, std::int64_t samples) {
  const PoolStages stages(shape);
  return {takes_maxima_by_windows(shape)
              ? 0
              : pool_workspace_bytes(stages, PoolNeeds::max_forward(type), samples),
          pools_by_windows(shape) ? 0 : pool_workspace_bytes(stages, PoolNeeds::max_backward(type), samples)};
}

PoolWorkspace average_pool_workspace(const PoolShape& shape, std::int64_t samples) {
  const PoolStages stages(shape);
  return {pool_workspace_bytes(stages, PoolNeeds::average_forward(), samples),
          pool_workspace_bytes(stages, PoolNeeds::average_backward(), samples)};
}

}  // namespace mylos
