#include "mylos/kernels/convolution/convolution_by_gemm.hpp"

#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/convolution/convolution_weights.hpp"
#include "mylos/kernels/grid/grid_fold.hpp"

namespace mylos::convolution_by_gemm {
namespace {

GatheredGemm gemm_of(const ConvolutionMap& map, DType type) {
  return {.gather = gather_of(map),
          .type = type,
          .outputs = map.group_to(),
          .target = map.to,
          .target_type = type};
}

GatheredGemm gemm_of(const ConvolutionMap& map, const AdjointPhase& phase, DType type, DType target_type) {
  return {.gather = phase.gather,
          .type = type,
          .outputs = map.group_from(),
          .target = map.from,
          .first_point = phase.first_point,
          .stride = map.stride,
          .target_type = target_type};
}

/// Returns the GEMM of a convolution that needs no gathering.
GemmProblem plain_gemm(const ConvolutionMap& map, DType type, std::int64_t samples, bool adjoint, bool bias) {
  const std::int64_t rows = samples * map.to.points();
  GemmProblem problem = adjoint ? linear_input_gradient(rows, map.from.channels, map.to.channels, type)
                                : linear_output(rows, map.from.channels, map.to.channels, type);
  problem.bias = bias;
  return problem;
}

/// The workspace of the adjoint: the padded grid, if it is needed, and the weights of one phase at a time.
struct AdjointPieces {
  AdjointPieces(const ConvolutionMap& map, DType type, std::int64_t all_samples, void* workspace)
      : pieces(workspace), direct(map.adjoint_is_direct()), samples(all_samples) {
    if (!direct) {
      const std::int64_t floats = map.of_padded().from.columns();
      const std::int64_t fit = convolution_gathered_bytes / (4 * floats);
      samples = std::clamp<std::int64_t>(fit, 1, all_samples);
      padded = pieces.take<float>(samples * floats);
    }
    weights = pieces.take_bytes(static_cast<std::size_t>(map.to.channels * map.taps() * map.group_from()) *
                                size_of(type));
  }

  Pieces pieces;
  bool direct;
  std::int64_t samples;  // at a time
  float* padded = nullptr;
  std::byte* weights;
};

/// Computes the phases of one map. `target_type` is fp32 if they are written to the padded grid.
void run_phases(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map, DType type,
                DType target_type, const GatheredOperands& operands, const AdjointPieces& all,
                std::int64_t samples) {
  for_each_phase(map, [&](const AdjointPhase& phase) {
    const GatheredGemm gemm = gemm_of(map, phase, type, target_type);
    Pieces pieces = all.pieces;
    const GatheredPieces workspace(pieces, engine, gemm, samples);
    if (!phase.is_zero()) {
      dispatch(type, [&]<class T>(TypeTag<T>) {
        adjoint_weights(exec, map, phase, static_cast<const T*>(operands.weights),
                        reinterpret_cast<T*>(all.weights));
      });
    }
    run_gathered_gemm(exec, engine, gemm, {operands.from, all.weights, operands.bias, operands.target},
                      workspace, samples);
  });
}

template <class T>
void apply_by_padded_grid(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map,
                          const GatheredOperands& operands, const AdjointPieces& all, std::int64_t samples) {
  const ConvolutionMap padded = map.of_padded();
  for (std::int64_t first = 0; first < samples; first += all.samples) {
    const std::int64_t count = std::min(all.samples, samples - first);
    const T* const from = static_cast<const T*>(operands.from) + first * map.to.columns();
    run_phases(exec, engine, padded, dtype_of<T>, DType::fp32, {from, operands.weights, nullptr, all.padded},
               all, count);
    fold_padding(exec, map.copied_edges(), count, all.padded, static_cast<const T*>(operands.bias),
                 static_cast<T*>(operands.target) + first * map.from.columns());
  }
}

}  // namespace

void apply(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map, DType type,
           const GatheredOperands& operands, std::int64_t samples, void* workspace) {
  if (map.is_gemm()) {
    return engine.run(exec, plain_gemm(map, type, samples, false, operands.bias != nullptr),
                      {operands.from, operands.weights, operands.target, operands.bias}, workspace);
  }
  const GatheredGemm gemm = gemm_of(map, type);
  Pieces pieces(workspace);
  run_gathered_gemm(exec, engine, gemm, operands, GatheredPieces(pieces, engine, gemm, samples), samples);
}

std::size_t apply_workspace(const GemmEngine& engine, const ConvolutionMap& map, DType type,
                            std::int64_t samples) {
  if (map.is_gemm()) return engine.workspace_bytes(plain_gemm(map, type, samples, false, true));
  Pieces pieces(nullptr);
  const GatheredPieces counted(pieces, engine, gemm_of(map, type), samples);
  return pieces.bytes();
}

void apply_adjoint(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map, DType type,
                   const GatheredOperands& operands, std::int64_t samples, void* workspace) {
  if (map.is_gemm()) {
    return engine.run(exec, plain_gemm(map, type, samples, true, operands.bias != nullptr),
                      {operands.from, operands.weights, operands.target, operands.bias}, workspace);
  }
  const AdjointPieces all(map, type, samples, workspace);
  if (all.direct) return run_phases(exec, engine, map, type, type, operands, all, samples);
  dispatch(type,
           [&]<class T>(TypeTag<T>) { apply_by_padded_grid<T>(exec, engine, map, operands, all, samples); });
}

std::size_t adjoint_workspace(const GemmEngine& engine, const ConvolutionMap& map, DType type,
                              std::int64_t samples) {
  if (map.is_gemm()) return engine.workspace_bytes(plain_gemm(map, type, samples, true, true));
  const AdjointPieces all(map, type, samples, nullptr);
  const ConvolutionMap phased = all.direct ? map : map.of_padded();
  std::size_t bytes = all.pieces.bytes();
  for_each_phase(phased, [&](const AdjointPhase& phase) {
    Pieces pieces = all.pieces;
    const GatheredGemm gemm = gemm_of(phased, phase, type, all.direct ? type : DType::fp32);
    const GatheredPieces counted(pieces, engine, gemm, all.samples);
    bytes = std::max(bytes, pieces.bytes());
  });
  return bytes;
}

}  // namespace mylos::convolution_by_gemm
