#include "mylos/kernels/spectral/spectral.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/divisor.hpp"
#include "mylos/kernels/spectral/spectral_coefficients.hpp"
#include "mylos/kernels/spectral/spectral_sums.hpp"

namespace mylos {
namespace {

std::size_t element_bytes(std::int64_t elements, DType type) {
  return static_cast<std::size_t>(elements) * size_of(type);
}

std::size_t bytes_of_results(const GemmBatch& batch) {
  return element_bytes(batch.count * batch.stride_c, batch.one.c);
}

std::int64_t product_over(const Extents& extents, std::size_t first, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t axis = first; axis < end; ++axis) product *= extents[axis];
  return product;
}

}  // namespace

/// Two buffers that the values of a pass use alternately, and the workspace of its GEMMs. Each pass first
/// counts the sizes of its values and then, with memory, takes them in the same order.
class SpectralConvolution::Buffers {
 public:
  /// Counts the bytes of the values.
  Buffers() = default;
  /// Takes the memory that `counted` has counted.
  Buffers(const Buffers& counted, Pieces& pieces) {
    for (int i = 0; i < 2; ++i) data_[i] = pieces.take_bytes(counted.bytes_[i]);
    gemm_ = pieces.take_bytes(counted.gemm_bytes_);
  }

  /// Returns the bytes of the memory that has been counted.
  [[nodiscard]] std::size_t memory_bytes() const {
    return bytes_[0] + bytes_[1] + aligned_bytes(gemm_bytes_);
  }

  std::byte* next(std::size_t bytes) {
    current_ = 1 - current_;
    bytes_[current_] = std::max(bytes_[current_], aligned_bytes(bytes));
    return data_[current_];
  }

  void count_workspace(const GemmEngine& engine, const GemmBatch& batch) {
    gemm_bytes_ = std::max(gemm_bytes_, engine.batch_workspace_bytes(batch));
  }
  /// Counts what multiply() takes.
  void count(const GemmEngine& engine, const GemmBatch& batch) {
    next(bytes_of_results(batch));
    count_workspace(engine, batch);
  }

  void multiply(const SpectralStep& step, const GemmBatch& batch, const GemmOperands& first) const {
    step.engines.gemm.run_batched(step.exec, batch, first, gemm_);
  }
  /// Takes the turn of a multiply() whose results are not needed: later ones lie where they were counted.
  void skip(const GemmBatch& batch) { next(bytes_of_results(batch)); }
  /// Returns the results, in the next buffer.
  void* multiply(const SpectralStep& step, const GemmBatch& batch, const void* a, const void* b) {
    void* const c = next(bytes_of_results(batch));
    multiply(step, batch, {a, b, c});
    return c;
  }

 private:
  std::size_t bytes_[2] = {};
  std::size_t gemm_bytes_ = 0;
  std::byte* data_[2] = {};
  std::byte* gemm_ = nullptr;
  int current_ = 1;
};

/// The GEMMs of a transform, axis by axis; none for an axis of one point.
struct SpectralConvolution::Transform {
  struct AxisGemms {
    std::size_t axis = 0;
    GemmBatch batch;
  };

  [[nodiscard]] const AxisGemms* begin() const { return axes; }
  [[nodiscard]] const AxisGemms* end() const { return axes + count; }
  [[nodiscard]] bool is_last(const AxisGemms& gemms) const { return &gemms + 1 == end(); }

  int count = 0;
  AxisGemms axes[3];
};

/// The workspace of the backward pass.
struct SpectralConvolution::Backward {
  Backward(const SpectralConvolution& own, const Engines& engines, std::int64_t samples, bool input,
           std::byte* workspace)
      : pieces(workspace),
        mirrored(pieces.take_tensor(own.type_, mode_count(own.shape_), 4 * samples * own.shape_.outputs)),
        buffers(own.counted_backward(engines, samples, input), pieces) {
    if (input) sums = own.take_sums(pieces, samples, own.shape_.outputs);
  }

  Pieces pieces;
  Tensor mirrored;  // ê
  Buffers buffers;
  Tensor sums;  // of the boxes
};

SpectralConvolution::SpectralConvolution(const SpectralShape& shape, DType type)
    : shape_(shape), type_(type) {
  check(shape_);
}

/// Returns the GEMMs of the transform to (or from) points. The last results of one from points are floats.
SpectralConvolution::Transform SpectralConvolution::transform(bool to_points, std::int64_t samples,
                                                              std::int64_t channels) const {
  const Extents& points = shape_.input.extent;
  const Extents whole = whole_grid(shape_).extent;
  const Extents basis = coefficient_grid(shape_, 1).extent;
  Transform result;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t axis = to_points ? 2 - i : i;
    if (whole[axis] == 1) continue;
    const std::int64_t inner = product_over(points, axis + 1, 3) * channels;
    const bool is_last = product_over(whole, axis + 1, 3) == 1;
    const DType type = !to_points && is_last ? DType::fp32 : type_;
    GemmBatch batch = batch_of({.m = to_points ? points[axis] : basis[axis],
                                .n = inner,
                                .k = to_points ? basis[axis] : points[axis],
                                .a = type_,
                                .b = type_,
                                .c = type,
                                .bias_type = type},
                               samples * product_over(basis, 0, axis));
    batch.stride_a = 0;
    batch.together = true;
    result.axes[result.count++] = {axis, batch};
  }
  return result;
}

/// Returns a GEMM for each mode, with results in float.
GemmBatch SpectralConvolution::of_modes(GemmProblem one) const {
  one.a = one.b = one.bias_type = type_;
  one.c = DType::fp32;
  GemmBatch batch = batch_of(one, mode_count(shape_));
  batch.together = true;
  return batch;
}

/// Returns the products [re; im] · [Re W, Im W] of each mode.
GemmBatch SpectralConvolution::mixing(std::int64_t samples) const {
  return of_modes({.m = 2 * samples, .n = 2 * shape_.outputs, .k = shape_.input.channels});
}

/// Returns the products [re, im; im, -re] · [Re W, Im W]ᵀ of each mode.
GemmBatch SpectralConvolution::transposed_mixing(std::int64_t samples) const {
  return of_modes(
      {.m = 2 * samples, .n = shape_.input.channels, .k = 2 * shape_.outputs, .transpose_b = true});
}

/// Returns the products [re; im]ᵀ · [re, im; im, -re] of each mode.
GemmBatch SpectralConvolution::weight_gradient_gemms(std::int64_t samples) const {
  return of_modes(
      {.m = shape_.input.channels, .n = 2 * shape_.outputs, .k = 2 * samples, .transpose_a = true});
}

void SpectralConvolution::plan_analysis(Buffers& buffers, const Engines& engines, std::int64_t samples,
                                        std::int64_t channels) const {
  const Transform gemms = transform(false, samples, channels);
  for (const auto& of_axis : gemms) buffers.count(engines.gemm, of_axis.batch);
  if (gemms.count == 0) buffers.next(element_bytes(samples * channels, DType::fp32));
}

/// Returns q [samples, coefficients · channels].
float* SpectralConvolution::run_analysis(const SpectralStep& step, Buffers& buffers, const ConstTensor& x,
                                         std::int64_t channels) const {
  const Transform gemms = transform(false, x.rows(), channels);
  void* results = nullptr;
  for (const auto& of_axis : gemms) {
    const void* const values = results == nullptr ? x.data() : results;
    results = buffers.multiply(step, of_axis.batch, step.matrices.analysis[of_axis.axis], values);
  }
  if (gemms.count > 0) return static_cast<float*>(results);
  std::byte* const copy = buffers.next(element_bytes(x.rows() * channels, DType::fp32));  // of one point
  convert(step.exec, x, Tensor(copy, DType::fp32, x.rows(), channels));
  return reinterpret_cast<float*>(copy);
}

void SpectralConvolution::plan_synthesis(Buffers& buffers, const Engines& engines, std::int64_t samples,
                                         std::int64_t channels) const {
  buffers.next(element_bytes(samples * coefficient_grid(shape_, channels).columns(), type_));
  const Transform gemms = transform(true, samples, channels);
  for (const auto& of_axis : gemms) {
    if (gemms.is_last(of_axis)) {
      buffers.count_workspace(engines.gemm, of_axis.batch);
    } else {
      buffers.count(engines.gemm, of_axis.batch);
    }
  }
}

/// Computes y of the modes' coefficients, which the last buffer holds.
void SpectralConvolution::run_synthesis(const SpectralStep& step, Buffers& buffers, const void* mixed,
                                        MixedRows rows, const ConstTensor& bias, std::int64_t channels,
                                        const Tensor& y) const {
  const std::int64_t samples = y.rows();
  const std::int64_t columns = coefficient_grid(shape_, channels).columns();
  const Tensor q(buffers.next(element_bytes(samples * columns, type_)), type_, samples, columns);
  scatter_modes(step.exec, shape_, samples, channels, static_cast<const float*>(mixed), rows, bias, q);
  const Transform gemms = transform(true, samples, channels);
  if (gemms.count == 0) return convert(step.exec, q, y);
  const void* values = q.data();
  for (const auto& of_axis : gemms) {
    const void* const matrix = step.matrices.synthesis[of_axis.axis];
    if (gemms.is_last(of_axis)) return buffers.multiply(step, of_axis.batch, {matrix, values, y.data()});
    values = buffers.multiply(step, of_axis.batch, matrix, values);
  }
}

std::int64_t SpectralConvolution::max_samples() const {
  return Divisor::max / std::max(mode_count(shape_), coefficient_grid(shape_, 1).points());
}

SpectralConvolution::Buffers SpectralConvolution::counted_analysis(const Engines& engines,
                                                                   std::int64_t samples) const {
  Buffers counted;
  plan_analysis(counted, engines, samples, shape_.input.channels);
  return counted;
}

std::size_t SpectralConvolution::analysis_workspace(const Engines& engines, std::int64_t samples) const {
  if (samples > max_samples()) {
    fail_run(errors::too_large,
             "the coefficients of {} samples are too many for one kernel, which counts those of {}", samples,
             max_samples());
  }
  Pieces sums(nullptr);
  static_cast<void>(take_sums(sums, samples, shape_.input.channels));
  return counted_analysis(engines, samples).memory_bytes() + sums.bytes();
}

void SpectralConvolution::analyse(const SpectralStep& step, const ConstTensor& x,
                                  const Tensor& coefficients) const {
  const std::int64_t channels = shape_.input.channels;
  Pieces pieces(step.workspace);
  Buffers buffers(counted_analysis(step.engines, x.rows()), pieces);
  const Tensor sums = take_sums(pieces, x.rows(), channels);
  float* const q = run_analysis(step, buffers, x, channels);
  add_up_boxes(step, q, sums);
  gather_modes(step.exec, shape_, x.rows(), channels, q, ModeRows::parts, coefficients);
}

SpectralConvolution::Buffers SpectralConvolution::counted_synthesis(const Engines& engines,
                                                                    std::int64_t samples) const {
  Buffers counted;
  counted.count(engines.gemm, mixing(samples));
  plan_synthesis(counted, engines, samples, shape_.outputs);
  return counted;
}

std::size_t SpectralConvolution::synthesis_workspace(const Engines& engines, std::int64_t samples) const {
  return counted_synthesis(engines, samples).memory_bytes();
}

void SpectralConvolution::synthesise(const SpectralStep& step, const ConstTensor& coefficients,
                                     const ConstTensor& weight, const ConstTensor& bias,
                                     const Tensor& y) const {
  Pieces pieces(step.workspace);
  Buffers buffers(counted_synthesis(step.engines, y.rows()), pieces);
  const void* const mixed = buffers.multiply(step, mixing(y.rows()), coefficients.data(), weight.data());
  run_synthesis(step, buffers, mixed, MixedRows::blocks, bias, shape_.outputs, y);
}

SpectralConvolution::Buffers SpectralConvolution::counted_backward(const Engines& engines,
                                                                   std::int64_t samples, bool input) const {
  Buffers counted;
  plan_analysis(counted, engines, samples, shape_.outputs);
  counted.count(engines.gemm, weight_gradient_gemms(samples));
  if (!input) return counted;
  counted.count(engines.gemm, transposed_mixing(samples));
  plan_synthesis(counted, engines, samples, shape_.input.channels);
  return counted;
}

std::size_t SpectralConvolution::backward_workspace(const Engines& engines, std::int64_t samples,
                                                    bool input) const {
  return Backward(*this, engines, samples, input, nullptr).pieces.bytes();
}

void SpectralConvolution::backward(const SpectralStep& step, const ConstTensor& coefficients,
                                   const ConstTensor& weight, const ConstTensor& dy,
                                   const SpectralGradients& gradients) const {
  const std::int64_t samples = dy.rows();
  const bool needs_input = !gradients.input.empty();
  Backward own(*this, step.engines, samples, needs_input, step.workspace);
  Buffers& buffers = own.buffers;

  float* const of_dy = run_analysis(step, buffers, dy, shape_.outputs);
  if (!gradients.bias.empty())
    bias_gradient(step.exec, shape_, samples, of_dy, gradients.accumulate, gradients.bias);
  gather_modes(step.exec, shape_, samples, shape_.outputs, of_dy, ModeRows::mirror, own.mirrored);

  if (gradients.weight.empty()) {
    buffers.skip(weight_gradient_gemms(samples));
  } else {
    const void* const products =
        buffers.multiply(step, weight_gradient_gemms(samples), coefficients.data(), own.mirrored.data());
    scale_weight_gradient(step.exec, shape_, static_cast<const float*>(products), gradients.accumulate,
                          gradients.weight);
  }
  if (!needs_input) return;

  if (!own.sums.empty()) {  // of_dy lies in the buffer that those products have not taken
    add_up_boxes(step, of_dy, own.sums);
    gather_modes(step.exec, shape_, samples, shape_.outputs, of_dy, ModeRows::mirror, own.mirrored);
  }
  const void* const mixed =
      buffers.multiply(step, transposed_mixing(samples), own.mirrored.data(), weight.data());
  run_synthesis(step, buffers, mixed, MixedRows::parts, {}, shape_.input.channels, gradients.input);
}

double SpectralConvolution::transform_flops(std::int64_t channels) const {
  double flops = 0;
  for (const auto& of_axis : transform(false, 1, channels))
    flops += flops_of(of_axis.batch.one) * static_cast<double>(of_axis.batch.count);
  return flops;
}

double SpectralConvolution::mixing_flops() const {
  return 8.0 * static_cast<double>(mode_count(shape_)) * static_cast<double>(shape_.input.channels) *
         static_cast<double>(shape_.outputs);
}

}  // namespace mylos
