// SourceNetwork: a network of vectors as a sequence of operations, independent of any programming language.
//
// Value 0 is the network's input, value i + 1 the result of operation i. A value may be read several times.
// Numbers are those of the file: float32 weights, double scalings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mylos/kernels/options.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

/// y = x W + b.
struct SourceLinear {
  std::vector<float> weight;  // [inputs, outputs]: the outputs of one input are adjacent
  std::vector<float> bias;    // zeros where the layer has none
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
               SourceScaling, SourceUnits, SourceGaussian, SourceSoftmax, SourceSigmoid>
      kind;
};

struct SourceNetwork {
  std::int64_t inputs = 0;
  std::vector<SourceOperation> operations;

  [[nodiscard]] std::int64_t width(std::size_t value) const {
    return value == 0 ? inputs : operations[value - 1].outputs;
  }
  [[nodiscard]] std::int64_t outputs() const { return width(operations.size()); }
};

}  // namespace mylos
