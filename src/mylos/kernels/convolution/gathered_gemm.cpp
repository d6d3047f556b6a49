#include "mylos/kernels/convolution/gathered_gemm.hpp"

#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/convolution/depthwise.hpp"

namespace mylos {
namespace {

GemmProblem problem_of(const GatheredGemm& gemm, std::int64_t rows, bool bias) {
  GemmProblem problem = linear_output(rows, gemm.gather.columns(), gemm.outputs, gemm.type);
  problem.c = gemm.in_place() ? gemm.target_type : DType::fp32;
  problem.bias = gemm.in_place() && bias;
  return problem;
}

/// The target of rows of GEMMs that cannot be written to it directly.
struct TargetRows {
  explicit TargetRows(const GatheredGemm& gemm)
      : points(gemm.gather.targets),
        target(gemm.target.extent),
        first_point(triple(gemm.first_point)),
        stride(triple(gemm.stride)),
        sample_of(points.points()) {}

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t row(std::int64_t first_sample,
                                                             std::int64_t index) const {
    const std::int64_t sample = sample_of.quotient(index);
    const Triple point = points.point(index - sample * points.points());
    return (first_sample + sample) * target.points() + target.index(first_point[0] + stride[0] * point[0],
                                                                    first_point[1] + stride[1] * point[1],
                                                                    first_point[2] + stride[2] * point[2]);
  }

  Box points;
  Box target;
  Triple first_point;
  Triple stride;
  Divisor sample_of;
};

/// GEMMs: [groups][rows][outputs], or null for zeros.
template <class T, class B>
void scatter_rows(const Execution& exec, const GatheredGemm& gemm, const float* gemms, const B* bias_values,
                  std::int64_t first_row, std::int64_t rows, T* target) {
  const TargetRows target_rows(gemm);
  const std::int64_t outputs = gemm.outputs;
  const std::int64_t channels = outputs * gemm.gather.groups;
  const std::int64_t points = gemm.gather.target_points();
  const std::int64_t first_sample = first_row / points;
  const std::int64_t first_point = first_row % points;
  const Divisor group_of(rows);
  for_each_tile(
      exec, "scatter_rows", gemm.gather.groups * rows, outputs,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const std::int64_t group = group_of.quotient(index);
        const std::int64_t row = target_rows.row(first_sample, first_point + index - group * rows);
        const std::int64_t channel = group * outputs + first;
        float value[tile_width];
        const float* const sums = gemms;
        if (sums == nullptr) {
          for_each_in_tile(count, [&](std::int64_t i) { value[i] = 0.0f; });
        } else {
          for_each_in_tile(count, [&](std::int64_t i) { value[i] = sums[index * outputs + first + i]; });
        }
        const B* const bias = bias_values;
        if (bias != nullptr)
          for_each_in_tile(count, [&](std::int64_t i) { value[i] += to_float(bias[channel + i]); });
        write_tile(value, count, target + row * channels + channel);
      });
}

void scatter_to_target(const Execution& exec, const GatheredGemm& gemm, const float* gemms,
                       const GatheredOperands& operands, std::int64_t first_row, std::int64_t rows) {
  dispatch_pair(gemm.type, gemm.target_type, [&]<class B, class T>(TypeTag<B>, TypeTag<T>) {
    scatter_rows(exec, gemm, gemms, static_cast<const B*>(operands.bias), first_row, rows,
                 static_cast<T*>(operands.target));
  });
}

void gather_columns(const Execution& exec, const GatheredGemm& gemm, const void* from, std::int64_t first_row,
                    std::int64_t rows, void* columns) {
  dispatch(gemm.type, [&]<class T>(TypeTag<T>) {
    gather_rows(exec, gemm.gather, static_cast<const T*>(from), first_row, rows, static_cast<T*>(columns));
  });
}

void multiply_in_place(const Execution& exec, GemmEngine& engine, const GatheredGemm& gemm,
                       const GatheredOperands& operands, const GatheredPieces& workspace,
                       std::int64_t first_row, std::int64_t rows) {
  const GemmProblem problem = problem_of(gemm, rows, operands.bias != nullptr);
  auto* const target = static_cast<std::byte*>(operands.target) +
                       static_cast<std::size_t>(first_row * gemm.outputs) * size_of(gemm.target_type);
  engine.run(exec, problem, {workspace.columns, operands.weights, target, operands.bias},
             workspace.engine_workspace);
}

}  // namespace

bool GatheredGemm::in_place() const {
  return gather.groups == 1 && gather.targets == target.extent;
}

std::int64_t gathered_rows(std::int64_t row_bytes, std::int64_t all_rows) {
  const std::int64_t fit =
      std::max(convolution_gathered_bytes / std::max<std::int64_t>(row_bytes, 1), convolution_min_rows);
  return std::min(fit, all_rows);
}

GatheredPieces::GatheredPieces(Pieces& pieces, const GemmEngine& engine, const GatheredGemm& gemm,
                               std::int64_t samples) {
  if (depthwise::supports(gemm.gather, gemm.outputs)) {
    taps = pieces.take<float>(depthwise::weight_floats(gemm.gather));
    return;
  }
  const std::int64_t row = gemm.gather.columns() * gemm.gather.groups;
  const std::int64_t results = gemm.in_place() ? 0 : gemm.target.channels;
  const auto element = static_cast<std::int64_t>(size_of(gemm.type));
  const auto result = static_cast<std::int64_t>(sizeof(float));
  rows = gathered_rows(row * element + results * result, samples * gemm.gather.target_points());
  columns = pieces.take_bytes(static_cast<std::size_t>(rows * row * element));
  if (results > 0) gemms = pieces.take<float>(rows * results);
  engine_workspace =
      row == 0 ? nullptr : pieces.take_bytes(engine.workspace_bytes(problem_of(gemm, rows, true)));
}

void run_gathered_gemm(const Execution& exec, GemmEngine& engine, const GatheredGemm& gemm,
                       const GatheredOperands& operands, const GatheredPieces& workspace,
                       std::int64_t samples) {
  if (depthwise::supports(gemm.gather, gemm.outputs))
    return depthwise::run(exec, gemm, operands, samples, workspace.taps);
  const std::int64_t all_rows = samples * gemm.gather.target_points();
  for (std::int64_t first = 0; first < all_rows; first += workspace.rows) {
    const std::int64_t rows = std::min(workspace.rows, all_rows - first);
    if (gemm.gather.columns() == 0) {
      scatter_to_target(exec, gemm, nullptr, operands, first, rows);
      continue;
    }
    gather_columns(exec, gemm, operands.from, first, rows, workspace.columns);
    if (gemm.in_place()) {
      multiply_in_place(exec, engine, gemm, operands, workspace, first, rows);
      continue;
    }
    engine.run_batched(exec, batch_of(problem_of(gemm, rows, false), gemm.gather.groups),
                       {workspace.columns, operands.weights, workspace.gemms}, workspace.engine_workspace);
    scatter_to_target(exec, gemm, workspace.gemms, operands, first, rows);
  }
}

}  // namespace mylos
