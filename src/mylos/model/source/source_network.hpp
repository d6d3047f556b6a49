// SourceNetwork: a network of vectors, or of the points of a column, as a sequence of operations, independent
// of any programming language.
//
// A value is the vector of a sample, or the points of its column with their channels adjacent. Value 0 is the
// network's input, value i + 1 the result of operation i. A value may be read several times. Numbers are
// those of the file: float32 weights, double scalings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mylos/kernels/convolution/convolution_shape.hpp"
#include "mylos/kernels/options.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

/// y = x W + b.
struct SourceLinear {
  std::vector<float> weight;  // [inputs, outputs]: the outputs of one input are adjacent
  std::vector<float> bias;    // zeros where the layer has none
};

/// The windows of a column. Window q sees the points q stride + t dilation - padding, t < taps.
struct SourceWindows {
  std::int64_t points = 1;  // of the column
  std::int64_t channels = 1;
  std::int64_t count = 1;  // of windows
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t padding = 0;
  PaddingKind edges = PaddingKind::zero;
};

/// y = what each window sees, [count][taps][channels]. A convolution is this and a SourceLinear of each
/// window.
struct SourceGather {
  SourceWindows windows;
};

/// The maximum of each window and channel, or the average; points beyond the ends are ignored.
struct SourceMaxPool {
  SourceWindows windows;
};
struct SourceAveragePool {
  SourceWindows windows;
};

/// Element by element. Not Activation::none.
struct SourceActivation {
  Activation function = Activation::relu;
};

/// Over the elements of the vector: layernorm or rmsnorm, with the factors `weight`.
struct SourceNorm {
  NormType type = NormType::layernorm;
  float epsilon = 0;
  std::vector<float> weight;
  std::vector<float> bias;  // of layernorm; empty: none
};

/// y = (x - shift) scale + offset: batch normalisation by running statistics.
struct SourceBatchNorm {
  std::vector<double> shift;
  std::vector<double> scale;
  std::vector<double> offset;
};

/// y = x + factor s, s being the value `other`.
struct SourceAdd {
  std::size_t other = 0;
  std::vector<float> factor;  // empty: 1
};

/// y = [x, s], s being the value `other`, or [s, x].
struct SourceConcat {
  std::size_t other = 0;
  bool other_first = false;
};

/// y = (x - shift) scale, in double: the scaling of inputs.
struct SourceScaling {
  std::vector<double> shift;
  std::vector<double> scale;
};

/// y = x scale + shift, in double: the targets' units.
struct SourceUnits {
  std::vector<double> shift;
  std::vector<double> scale;
};

/// Of means m and log variances s, [m, s]: y = [m scale + shift, e^(s / 2) scale], in double but for e^(s/2).
struct SourceGaussian {
  std::vector<double> shift;
  std::vector<double> scale;
};

/// Probabilities of classes that exclude each other.
struct SourceSoftmax {};
/// Probabilities of independent classes.
struct SourceSigmoid {};

struct SourceOperation {
  std::string layer;      // name of the layer, for comments and names of constants
  std::size_t input = 0;  // the value that it reads
  std::int64_t outputs = 0;
  std::variant<SourceLinear, SourceActivation, SourceNorm, SourceBatchNorm, SourceAdd, SourceConcat,
               SourceScaling, SourceUnits, SourceGaussian, SourceSoftmax, SourceSigmoid, SourceGather,
               SourceMaxPool, SourceAveragePool>
      kind;
  std::int64_t points = 1;  // to each of which the operation is applied separately
};

/// Returns whether the operation reads several points of a column at once.
[[nodiscard]] inline bool is_of_columns(const SourceOperation& operation) {
  return std::holds_alternative<SourceGather>(operation.kind) ||
         std::holds_alternative<SourceMaxPool>(operation.kind) ||
         std::holds_alternative<SourceAveragePool>(operation.kind);
}

struct SourceNetwork {
  std::int64_t inputs = 0;
  std::vector<SourceOperation> operations;

  [[nodiscard]] std::int64_t width(std::size_t value) const {
    return value == 0 ? inputs : operations[value - 1].outputs;
  }
  [[nodiscard]] std::int64_t outputs() const { return width(operations.size()); }
};

}  // namespace mylos
