#include "mylos/kernels/spectral/spectral.hpp"

#include <algorithm>

#include "mylos/base/device/pieces.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/divisor.hpp"
#include "mylos/kernels/spectral/spectral_coefficients.hpp"

namespace mylos {
namespace {

std::size_t element_bytes(std::int64_t elements, DType type) {
  return static_cast<std::size_t>(elements) * size_of(type);
}

std::int64_t product_over(const Extents& extents, std::size_t first, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t axis = first; axis < end; ++axis) product *= extents[axis];
  return product;
}

}  // namespace

/// Two buffers that the values of a pass use in turn, and the workspace of its GEMMs. The same calls first
/// count their sizes and then, with memory, return where each value lies.
class SpectralConvolution::Buffers {
 public:
  /// Counts the bytes of the values.
  Buffers() = default;
  /// Takes the memory that `counted` has counted.
  Buffers(const Buffers& counted, Pieces& pieces) {
    for (int i = 0; i < 2; ++i) data_[i] = pieces.take_bytes(counted.bytes_[i]);
    gemm_ = pieces.take_bytes(counted.gemm_bytes_);
  }

  std::byte* next(std::size_t bytes) {
    current_ = 1 - current_;
    bytes_[current_] = std::max(bytes_[current_], aligned_bytes(bytes));
    return data_[current_];
  }
  void multiply(const GemmEngine& engine, const GemmBatch& batch) {
    gemm_bytes_ = std::max(gemm_bytes_, engine.batch_workspace_bytes(batch));
  }
  [[nodiscard]] std::byte* gemm() const { return gemm_; }

 private:
  std::size_t bytes_[2] = {};
  std::size_t gemm_bytes_ = 0;
  std::byte* data_[2] = {};
  std::byte* gemm_ = nullptr;
  int current_ = 1;
};

/// The workspace of the backward pass.
struct SpectralConvolution::Backward {
  Backward(const SpectralConvolution& own, const Engines& engines, std::int64_t samples, bool input,
           std::byte* workspace)
      : pieces(workspace),
        mirrored(pieces.take_tensor(own.type_, mode_count(own.shape_), 4 * samples * own.shape_.outputs)),
        buffers(counted(own, engines, samples, input), pieces) {}

  static Buffers counted(const SpectralConvolution& own, const Engines& engines, std::int64_t samples,
                         bool input) {
    Buffers counted;
    own.plan_analysis(counted, engines, samples, own.shape_.outputs);
    const std::int64_t modes = mode_count(own.shape_);
    counted.next(element_bytes(modes * 2 * own.shape_.input.channels * own.shape_.outputs, DType::fp32));
    counted.multiply(engines.gemm, own.weight_products(samples));
    if (!input) return counted;
    counted.next(element_bytes(modes * 2 * samples * own.shape_.input.channels, DType::fp32));
    counted.multiply(engines.gemm, own.transposed_mixing(samples));
    own.plan_synthesis(counted, engines, samples, own.shape_.input.channels);
    return counted;
  }

  Pieces pieces;
  Tensor mirrored;  // ê
  Buffers buffers;
};

SpectralConvolution::SpectralConvolution(const SpectralShape& shape, DType type)
    : shape_(shape), type_(type) {
  check(shape_);
}

/// Returns the GEMMs that transform one axis of [outer, axis, inner], from or to its points.
GemmBatch SpectralConvolution::along_axis(std::size_t axis, std::int64_t outer, std::int64_t inner,
                                          bool to_points, DType result) const {
  const std::int64_t points = shape_.input.extent[axis];
  const std::int64_t basis = basis_size(shape_.modes[axis]);
  const GemmProblem one{.m = to_points ? points : basis,
                        .n = inner,
                        .k = to_points ? basis : points,
                        .a = type_,
                        .b = type_,
                        .c = result,
                        .bias_type = result};
  GemmBatch batch = batch_of(one, outer);
  batch.stride_a = 0;
  batch.together = true;
  return batch;
}

/// Returns the products [re; im] · [Re W, Im W] of each mode.
GemmBatch SpectralConvolution::mixing(std::int64_t samples) const {
  GemmBatch batch = batch_of({.m = 2 * samples,
                              .n = 2 * shape_.outputs,
                              .k = shape_.input.channels,
                              .a = type_,
                              .b = type_,
                              .c = DType::fp32,
                              .bias_type = type_},
                             mode_count(shape_));
  batch.together = true;
  return batch;
}

/// Returns the products [re, im; im, -re] · [Re W, Im W]ᵀ of each mode.
GemmBatch SpectralConvolution::transposed_mixing(std::int64_t samples) const {
  GemmBatch batch = batch_of({.m = 2 * samples,
                              .n = shape_.input.channels,
                              .k = 2 * shape_.outputs,
                              .transpose_b = true,
                              .a = type_,
                              .b = type_,
                              .c = DType::fp32,
                              .bias_type = type_},
                             mode_count(shape_));
  batch.together = true;
  return batch;
}

/// Returns the products [re; im]ᵀ · [re, im; im, -re] of each mode.
GemmBatch SpectralConvolution::weight_products(std::int64_t samples) const {
  GemmBatch batch = batch_of({.m = shape_.input.channels,
                              .n = 2 * shape_.outputs,
                              .k = 2 * samples,
                              .transpose_a = true,
                              .a = type_,
                              .b = type_,
                              .c = DType::fp32,
                              .bias_type = type_},
                             mode_count(shape_));
  batch.together = true;
  return batch;
}

void SpectralConvolution::plan_analysis(Buffers& buffers, const Engines& engines, std::int64_t samples,
                                        std::int64_t channels) const {
  const Extents& points = shape_.input.extent;
  const Extents basis = coefficient_grid(shape_, 1).extent;
  const std::int64_t coefficients = samples * product_over(basis, 0, 3) * channels;
  bool is_float = false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (points[axis] == 1) continue;
    is_float = product_over(points, axis + 1, 3) == 1;
    const std::int64_t outer = samples * product_over(basis, 0, axis);
    const std::int64_t inner = product_over(points, axis + 1, 3) * channels;
    const DType result = is_float ? DType::fp32 : type_;
    buffers.next(element_bytes(outer * basis[axis] * inner, result));
    buffers.multiply(engines.gemm, along_axis(axis, outer, inner, false, result));
  }
  if (!is_float) buffers.next(element_bytes(coefficients, DType::fp32));  // a grid of one point
}

/// Returns q [samples, coefficients · channels].
const float* SpectralConvolution::run_analysis(const SpectralStep& step, Buffers& buffers,
                                               const ConstTensor& x, std::int64_t channels) const {
  const std::int64_t samples = x.rows();
  const Extents& points = shape_.input.extent;
  const Extents basis = coefficient_grid(shape_, 1).extent;
  const void* from = x.data();
  bool is_float = false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (points[axis] == 1) continue;
    is_float = product_over(points, axis + 1, 3) == 1;
    const std::int64_t outer = samples * product_over(basis, 0, axis);
    const std::int64_t inner = product_over(points, axis + 1, 3) * channels;
    const DType result = is_float ? DType::fp32 : type_;
    void* const to = buffers.next(element_bytes(outer * basis[axis] * inner, result));
    step.engines.gemm.run_batched(step.exec, along_axis(axis, outer, inner, false, result),
                                  {step.matrices.analysis[axis], from, to}, buffers.gemm());
    from = to;
  }
  if (is_float) return static_cast<const float*>(from);
  std::byte* const copy = buffers.next(element_bytes(samples * channels, DType::fp32));
  convert(step.exec, x, Tensor(copy, DType::fp32, samples, channels));
  return reinterpret_cast<const float*>(copy);
}

void SpectralConvolution::plan_synthesis(Buffers& buffers, const Engines& engines, std::int64_t samples,
                                         std::int64_t channels) const {
  const Extents& points = shape_.input.extent;
  const Extents basis = coefficient_grid(shape_, 1).extent;
  buffers.next(element_bytes(samples * product_over(basis, 0, 3) * channels, type_));
  for (std::size_t axis = 3; axis-- > 0;) {
    if (points[axis] == 1) continue;
    const std::int64_t outer = samples * product_over(basis, 0, axis);
    const std::int64_t inner = product_over(points, axis + 1, 3) * channels;
    if (product_over(points, 0, axis) > 1) buffers.next(element_bytes(outer * points[axis] * inner, type_));
    buffers.multiply(engines.gemm, along_axis(axis, outer, inner, true, type_));
  }
}

/// Computes y of q, in the type, which the last buffer holds.
void SpectralConvolution::run_synthesis(const SpectralStep& step, Buffers& buffers, const void* q,
                                        std::int64_t channels, const Tensor& y) const {
  const std::int64_t samples = y.rows();
  const Extents& points = shape_.input.extent;
  const Extents basis = coefficient_grid(shape_, 1).extent;
  const void* from = q;
  for (std::size_t axis = 3; axis-- > 0;) {
    if (points[axis] == 1) continue;
    const std::int64_t outer = samples * product_over(basis, 0, axis);
    const std::int64_t inner = product_over(points, axis + 1, 3) * channels;
    const bool is_last = product_over(points, 0, axis) == 1;
    void* const to = is_last ? y.data() : buffers.next(element_bytes(outer * points[axis] * inner, type_));
    step.engines.gemm.run_batched(step.exec, along_axis(axis, outer, inner, true, type_),
                                  {step.matrices.synthesis[axis], from, to}, buffers.gemm());
    from = to;
  }
  if (shape_.input.points() == 1) convert(step.exec, ConstTensor(q, type_, samples, channels), y);
}

std::int64_t SpectralConvolution::max_samples() const {
  return Divisor::max / std::max(mode_count(shape_), coefficient_grid(shape_, 1).points());
}

std::size_t SpectralConvolution::analysis_workspace(const Engines& engines, std::int64_t samples) const {
  if (samples > max_samples()) {
    fail_run(ErrorId::too_large,
             "the coefficients of {} samples are too many for one kernel, which counts those of {}", samples,
             max_samples());
  }
  Buffers counted;
  plan_analysis(counted, engines, samples, shape_.input.channels);
  Pieces pieces(nullptr);
  static_cast<void>(Buffers(counted, pieces));
  return pieces.bytes();
}

void SpectralConvolution::analyse(const SpectralStep& step, const ConstTensor& x,
                                  const Tensor& coefficients) const {
  const std::int64_t channels = shape_.input.channels;
  Buffers counted;
  plan_analysis(counted, step.engines, x.rows(), channels);
  Pieces pieces(step.workspace);
  Buffers buffers(counted, pieces);
  const float* const q = run_analysis(step, buffers, x, channels);
  gather_modes(step.exec, shape_, x.rows(), channels, q, ModeRows::parts, coefficients);
}

std::size_t SpectralConvolution::synthesis_workspace(const Engines& engines, std::int64_t samples) const {
  Buffers counted;
  counted.next(element_bytes(mode_count(shape_) * 4 * samples * shape_.outputs, DType::fp32));
  counted.multiply(engines.gemm, mixing(samples));
  plan_synthesis(counted, engines, samples, shape_.outputs);
  Pieces pieces(nullptr);
  static_cast<void>(Buffers(counted, pieces));
  return pieces.bytes();
}

void SpectralConvolution::synthesise(const SpectralStep& step, const ConstTensor& coefficients,
                                     const ConstTensor& weight, const ConstTensor& bias,
                                     const Tensor& y) const {
  const std::int64_t samples = y.rows();
  const std::size_t mixed_bytes =
      element_bytes(mode_count(shape_) * 4 * samples * shape_.outputs, DType::fp32);
  Buffers counted;
  counted.next(mixed_bytes);
  counted.multiply(step.engines.gemm, mixing(samples));
  plan_synthesis(counted, step.engines, samples, shape_.outputs);
  Pieces pieces(step.workspace);
  Buffers buffers(counted, pieces);

  auto* const mixed = reinterpret_cast<float*>(buffers.next(mixed_bytes));
  step.engines.gemm.run_batched(step.exec, mixing(samples), {coefficients.data(), weight.data(), mixed},
                                buffers.gemm());
  const std::int64_t columns = coefficient_grid(shape_, shape_.outputs).columns();
  const Tensor q(buffers.next(element_bytes(samples * columns, type_)), type_, samples, columns);
  scatter_modes(step.exec, shape_, samples, shape_.outputs, mixed, MixedRows::blocks, bias, q);
  run_synthesis(step, buffers, q.data(), shape_.outputs, y);
}

std::size_t SpectralConvolution::backward_workspace(const Engines& engines, std::int64_t samples,
                                                    bool input) const {
  return Backward(*this, engines, samples, input, nullptr).pieces.bytes();
}

void SpectralConvolution::backward(const SpectralStep& step, const ConstTensor& coefficients,
                                   const ConstTensor& weight, const ConstTensor& dy,
                                   const SpectralGradients& gradients) const {
  const std::int64_t samples = dy.rows();
  const std::int64_t inputs = shape_.input.channels;
  const bool needs_input = !gradients.input.empty();
  GemmEngine& gemm = step.engines.gemm;
  Backward own(*this, step.engines, samples, needs_input, step.workspace);
  Buffers& buffers = own.buffers;

  const float* const of_dy = run_analysis(step, buffers, dy, shape_.outputs);
  if (!gradients.bias.empty())
    bias_gradient(step.exec, shape_, samples, of_dy, gradients.accumulate, gradients.bias);
  gather_modes(step.exec, shape_, samples, shape_.outputs, of_dy, ModeRows::mirror, own.mirrored);

  const std::int64_t modes = mode_count(shape_);
  auto* const products =
      reinterpret_cast<float*>(buffers.next(element_bytes(modes * 2 * inputs * shape_.outputs, DType::fp32)));
  gemm.run_batched(step.exec, weight_products(samples), {coefficients.data(), own.mirrored.data(), products},
                   buffers.gemm());
  scale_weight_gradient(step.exec, shape_, products, gradients.accumulate, gradients.weight);
  if (!needs_input) return;

  auto* const mixed =
      reinterpret_cast<float*>(buffers.next(element_bytes(modes * 2 * samples * inputs, DType::fp32)));
  gemm.run_batched(step.exec, transposed_mixing(samples), {own.mirrored.data(), weight.data(), mixed},
                   buffers.gemm());
  const std::int64_t columns = coefficient_grid(shape_, inputs).columns();
  const Tensor q(buffers.next(element_bytes(samples * columns, type_)), type_, samples, columns);
  scatter_modes(step.exec, shape_, samples, inputs, mixed, MixedRows::parts, {}, q);
  run_synthesis(step, buffers, q.data(), inputs, gradients.input);
}

double SpectralConvolution::transform_flops(std::int64_t channels) const {
  const Extents& points = shape_.input.extent;
  const Extents basis = coefficient_grid(shape_, 1).extent;
  double flops = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (points[axis] == 1) continue;
    flops += 2.0 * static_cast<double>(product_over(basis, 0, axis + 1)) *
             static_cast<double>(product_over(points, axis, 3)) * static_cast<double>(channels);
  }
  return flops;
}

double SpectralConvolution::mixing_flops() const {
  return 8.0 * static_cast<double>(mode_count(shape_)) * static_cast<double>(shape_.input.channels) *
         static_cast<double>(shape_.outputs);
}

}  // namespace mylos
