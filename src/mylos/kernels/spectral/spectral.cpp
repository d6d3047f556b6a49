#include "mylos/kernels/spectral/spectral.hpp"

#include <algorithm>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/divisor.hpp"
#include "mylos/kernels/spectral/spectral_buffers.hpp"
#include "mylos/kernels/spectral/spectral_coefficients.hpp"
#include "mylos/kernels/spectral/spectral_sums.hpp"

namespace mylos {
namespace {

std::int64_t product_over(const Extents& extents, std::size_t first, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t axis = first; axis < end; ++axis) product *= extents[axis];
  return product;
}

}  // namespace

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
        buffers(own.counted_backward(engines, samples, input), pieces),
        points(own.output_boxes_.take_points(pieces, own.type_, samples)),
        weights(own.output_boxes_.take_sums(
            pieces, DType::fp32,
            mode_count(own.shape_) * 2 * own.shape_.input.channels * own.shape_.outputs)),
        biases(own.output_boxes_.take_sums(pieces, DType::fp32, own.shape_.outputs)) {
    if (input) sums.emplace(own.shape_, pieces, samples, own.shape_.outputs);
  }

  Pieces pieces;
  Tensor mirrored;  // ê
  Buffers buffers;
  Tensor points;                        // of one box of sums
  Tensor weights, biases;               // gradients of each box
  std::optional<CoefficientSums> sums;  // for the gradient of the input
};

SpectralConvolution::SpectralConvolution(const SpectralShape& shape, DType type)
    : shape_(shape),
      type_(type),
      input_boxes_(shape.input, shape.part),
      output_boxes_(output_grid(shape), shape.part) {
  check(shape_);
}

/// Returns the GEMMs of the transform to points, or from those of one box of sums. The last results of one
/// from points are floats.
SpectralConvolution::Transform SpectralConvolution::transform(bool to_points, std::int64_t samples,
                                                              std::int64_t channels) const {
  const Extents& points = to_points ? shape_.input.extent : input_boxes_.grid().extent;
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

/// Returns q [samples, coefficients · channels] of the points of box `box` of sums.
float* SpectralConvolution::run_analysis(const SpectralStep& step, Buffers& buffers, const ConstTensor& x,
                                         std::int64_t channels, int box) const {
  const Extents at = input_boxes_.at_of(box);
  const Transform gemms = transform(false, x.rows(), channels);
  void* results = nullptr;
  for (const auto& of_axis : gemms) {
    const void* const values = results == nullptr ? x.data() : results;
    const auto* const matrices = static_cast<const std::byte*>(step.matrices.analysis[of_axis.axis]);
    const GemmProblem& one = of_axis.batch.one;
    const std::size_t before = element_bytes(at[of_axis.axis] * one.m * one.k, type_);
    results = buffers.multiply(step, of_axis.batch, matrices + before, values);
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
  static_cast<void>(CoefficientSums(shape_, sums, samples, shape_.input.channels));
  static_cast<void>(input_boxes_.take_points(sums, type_, samples));
  return counted_analysis(engines, samples).memory_bytes() + sums.bytes();
}

void SpectralConvolution::analyse(const SpectralStep& step, const ConstTensor& x,
                                  const Tensor& coefficients) const {
  const std::int64_t channels = shape_.input.channels;
  Pieces pieces(step.workspace);
  const Buffers buffers(counted_analysis(step.engines, x.rows()), pieces);
  const CoefficientSums sums(shape_, pieces, x.rows(), channels);
  const Tensor points = input_boxes_.take_points(pieces, type_, x.rows());
  float* q = nullptr;
  for (int box = 0; box < input_boxes_.count(); ++box) {
    Buffers of_box = buffers;
    q = run_analysis(step, of_box, input_boxes_.points_of(step.exec, box, x, points), channels, box);
    sums.store(step.exec, box, q);
  }
  sums.add_up(step, q);
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
  const Buffers before = own.buffers;
  Buffers& buffers = own.buffers;

  float* of_dy = nullptr;
  const bool is_one = output_boxes_.is_one();
  for (int box = 0; box < output_boxes_.count(); ++box) {
    buffers = before;
    of_dy = run_analysis(step, buffers, output_boxes_.points_of(step.exec, box, dy, own.points),
                         shape_.outputs, box);
    if (!gradients.bias.empty())
      bias_gradient(step.exec, shape_, samples, of_dy, is_one && gradients.accumulate,
                    sum_of_box(own.biases, box, gradients.bias));
    gather_modes(step.exec, shape_, samples, shape_.outputs, of_dy, ModeRows::mirror, own.mirrored);

    if (gradients.weight.empty()) {
      buffers.skip(weight_gradient_gemms(samples));
    } else {
      const void* const products =
          buffers.multiply(step, weight_gradient_gemms(samples), coefficients.data(), own.mirrored.data());
      scale_weight_gradient(step.exec, shape_, static_cast<const float*>(products),
                            is_one && gradients.accumulate, sum_of_box(own.weights, box, gradients.weight));
    }
    if (own.sums) own.sums->store(step.exec, box, of_dy);
  }
  add_sums_of_boxes(step.exec, own.biases, gradients.bias, gradients.accumulate);
  add_sums_of_boxes(step.exec, own.weights, gradients.weight, gradients.accumulate);
  if (!needs_input) return;

  if (!own.sums->empty()) {  // of_dy lies in the buffer that those products have not taken
    own.sums->add_up(step, of_dy);
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
  return input_boxes_.count() * flops;
}

double SpectralConvolution::mixing_flops() const {
  return 8.0 * static_cast<double>(mode_count(shape_)) * static_cast<double>(shape_.input.channels) *
         static_cast<double>(shape_.outputs);
}

}  // namespace mylos
