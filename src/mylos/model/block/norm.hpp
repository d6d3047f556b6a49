// Norm: layer normalisation or root-mean-square normalisation inside a block.
//
// Parameters: a weight [1, width], and for layer normalisation with `bias` a bias [1, width]. Statistics are
// float for every storage type: two per row (mean, 1/sigma) or one (1/rms).
#pragma once

#include <string>
#include <vector>

#include "mylos/kernels/norm/residual_sum.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct Norm {
  NormType type = NormType::layernorm;  // must not be none
  std::int64_t width = 0;
  bool bias = true;
  float epsilon = 1e-5f;

  [[nodiscard]] bool has_bias() const { return bias && type == NormType::layernorm; }
  /// Returns the specs of "weight" and, if present, "bias" in this group with these types.
  [[nodiscard]] std::vector<ParameterSpec> parameters(const std::string& group, DType weights,
                                                      DType gradients) const;
  /// Returns a multiple of arena_alignment.
  [[nodiscard]] std::size_t statistics_bytes(std::int64_t rows) const;
  [[nodiscard]] std::size_t backward_workspace(std::int64_t rows) const;
  [[nodiscard]] double forward_flops(std::int64_t rows) const { return 8.0 * elements(rows); }
  [[nodiscard]] double backward_flops(std::int64_t rows) const { return 14.0 * elements(rows); }

  /// Computes y from x, which have the same type. `weights`: the norm's parameters.
  void forward(const Execution& exec, const ConstTensor& x, const ParameterTensors& weights, const Tensor& y,
               std::byte* statistics) const;
  /// Computes the sum x and then what forward() computes of it, with the same bits.
  void forward_of_sum(const Execution& exec, const ResidualSum& sum, const ParameterTensors& weights,
                      const Tensor& y, std::byte* statistics) const;
  /// Computes dx = gradient + residual (empty: none). dx may be dy or residual.
  void backward(const Execution& exec, const ConstTensor& x, const Tensor& dy,
                const ParameterTensors& weights, std::byte* statistics, const Tensor& dx,
                const ParameterTensors& weight_gradients, bool accumulate, std::byte* workspace,
                const Tensor& residual) const;

 private:
  [[nodiscard]] double elements(std::int64_t rows) const { return static_cast<double>(rows * width); }
};

/// Returns the kind that rules of the deck name: "layernorm", "rmsnorm".
[[nodiscard]] std::string_view kind_of(NormType type);

}  // namespace mylos
