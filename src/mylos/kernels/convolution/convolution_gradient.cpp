// The gradient of a convolution's weights: GEMMs of gathered rows and the output's gradient, some rows at a
// time, accumulated in float.
#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/convolution/convolution_by_gemm.hpp"
#include "mylos/kernels/convolution/convolution_weights.hpp"
#include "mylos/kernels/convolution/depthwise.hpp"

namespace mylos::convolution_by_gemm {
namespace {

GemmProblem gradient_gemm(const ConvolutionMap& map, std::int64_t rows, DType type, DType gradient_type) {
  return linear_weight_gradient(rows, map.taps() * map.group_from(), map.group_to(), type, gradient_type);
}

bool is_depthwise(const ConvolutionMap& map) {
  return map.is_depthwise() && !map.is_gemm();
}

struct SumPieces {
  SumPieces(const GemmEngine& engine, const ConvolutionMap& map, DType type, std::int64_t samples,
            void* workspace)
      : pieces(workspace) {
    const std::int64_t all_rows = samples * map.to.points();
    const auto element = static_cast<std::int64_t>(size_of(type));
    const std::int64_t columns_of_row = map.is_gemm() ? 0 : map.groups * map.taps() * map.group_from();
    const std::int64_t split = map.groups > 1 ? map.to.channels : 0;
    rows = map.is_gemm() ? all_rows : gathered_rows((columns_of_row + split) * element, all_rows);
    columns = pieces.take_bytes(static_cast<std::size_t>(rows * columns_of_row * element));
    d_to = pieces.take_bytes(static_cast<std::size_t>(rows * split * element));
    if (!map.is_gemm()) sums = pieces.take<float>(map.weight_count());
    if (map.groups > 1) more = pieces.take<float>(map.weight_count());
    engine_workspace =
        pieces.take_bytes(std::max(engine.workspace_bytes(gradient_gemm(map, rows, type, type)),
                                   engine.workspace_bytes(gradient_gemm(map, rows, type, DType::fp32))));
  }

  Pieces pieces;
  std::int64_t rows;  // at a time
  std::byte* columns;
  std::byte* d_to;        // only with several groups
  float* sums = nullptr;  // of all rows so far
  float* more = nullptr;  // of the last rows, with several groups
  std::byte* engine_workspace;
};

void add_groups(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map, const ConstTensor& d_to,
                std::int64_t first, std::int64_t rows, const SumPieces& pieces) {
  dispatch(d_to.type(), [&]<class T>(TypeTag<T>) {
    split_groups(exec, d_to.as<T>() + first * map.to.channels, rows, map.groups, map.group_to(),
                 reinterpret_cast<T*>(pieces.d_to));
  });
  float* const sums = first == 0 ? pieces.sums : pieces.more;
  engine.run_batched(exec, batch_of(gradient_gemm(map, rows, d_to.type(), DType::fp32), map.groups),
                     {pieces.d_to, pieces.columns, sums}, pieces.engine_workspace);
  if (first > 0) add_sums(exec, map.weight_count(), pieces.more, pieces.sums);
}

}  // namespace

std::size_t sum_workspace(const GemmEngine& engine, const ConvolutionMap& map, DType type,
                          std::int64_t samples) {
  if (is_depthwise(map))
    return aligned_bytes(static_cast<std::size_t>(depthwise::sum_floats(gather_of(map), samples)) *
                         sizeof(float));
  return SumPieces(engine, map, type, samples, nullptr).pieces.bytes();
}

void sum_weights(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map,
                 const ConstTensor& from, const ConstTensor& d_to, const Tensor& d_weights, bool accumulate,
                 void* workspace) {
  if (is_depthwise(map)) {
    return depthwise::sum_weights(exec, gather_of(map), from, d_to, d_weights, accumulate,
                                  static_cast<float*>(workspace));
  }
  const DType type = from.type();
  const SumPieces pieces(engine, map, type, from.rows(), workspace);
  const std::int64_t all_rows = from.rows() * map.to.points();
  // Write to the result directly if no other rows must be added before rounding.
  const bool direct = map.groups == 1 && (d_weights.type() == DType::fp32 || pieces.rows == all_rows);
  const Gather gather = gather_of(map);
  for (std::int64_t first = 0; first < all_rows; first += pieces.rows) {
    const std::int64_t rows = std::min(pieces.rows, all_rows - first);
    if (!map.is_gemm()) {
      dispatch(type, [&]<class T>(TypeTag<T>) {
        gather_rows(exec, gather, from.as<T>(), first, rows, reinterpret_cast<T*>(pieces.columns));
      });
    }
    if (map.groups > 1) {
      add_groups(exec, engine, map, d_to, first, rows, pieces);
      continue;
    }
    GemmProblem problem = gradient_gemm(map, rows, type, direct ? d_weights.type() : DType::fp32);
    problem.accumulate = first > 0 || (direct && accumulate);
    const auto* const columns = map.is_gemm() ? from.data() : pieces.columns;
    const auto* const gradient = static_cast<const std::byte*>(d_to.data()) +
                                 static_cast<std::size_t>(first * map.to.channels) * size_of(type);
    engine.run(exec, problem, {gradient, columns, direct ? d_weights.data() : pieces.sums},
               pieces.engine_workspace);
  }
  if (direct) return;
  dispatch(d_weights.type(), [&]<class T>(TypeTag<T>) {
    store_sums(exec, map.weight_count(), pieces.sums, accumulate, d_weights.as<T>());
  });
}

}  // namespace mylos::convolution_by_gemm
