// FieldNorm: what the losses of fields read besides predictions and targets: the weights of points or of
// numbers, and for relative_h1 the derivatives along the axes.
//
// With weights a derivative counts where its point does, if no number that it reads has the weight 0: values
// outside a mask do not enter the loss. A spectral derivative reads all points, so that its weights must all
// be above 0.
#pragma once

#include <span>
#include <vector>

#include "mylos/kernels/pointwise/fields/field_derivative.hpp"
#include "mylos/kernels/pointwise/fields/field_loss.hpp"
#include "mylos/model/block/loss_head.hpp"

namespace mylos {

/// Returns the coefficients c[0], ..., c[n - 1] of the spectral derivative along an axis of n points.
[[nodiscard]] std::vector<double> spectral_coefficients(std::int64_t n);

class FieldNorm {
 public:
  /// Throws Error (bad_input) if the weights do not have the grid's shape, or if the grid or the weights do
  /// not allow such derivatives. Without `has_derivatives` norms have none.
  FieldNorm(const OutputField& field, bool has_derivatives);

  /// Returns the numbers that kernels read: the weights, those of the derivatives along each axis, and tables
  /// of the spectral derivative. Empty if there are none.
  [[nodiscard]] std::span<const float> constants() const { return constants_; }
  /// Return what kernels read; `constants`: the constants in their memory.
  [[nodiscard]] FieldPoints points(const float* constants) const;
  [[nodiscard]] FieldDerivatives derivatives(const float* constants) const;

  /// Returns the floats of workspace that the derivatives of `rows` samples need.
  [[nodiscard]] std::int64_t workspace_numbers(std::int64_t rows) const;
  /// Returns the operations of a number of the output: of the derivatives of errors and targets, and of the
  /// gradient.
  [[nodiscard]] double flops_of_derivatives() const;
  [[nodiscard]] const GridShape& grid() const { return grid_; }
  [[nodiscard]] Derivative derivative() const { return derivative_; }
  [[nodiscard]] bool per_channel() const { return per_channel_; }

 private:
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t stride = 1;
    std::size_t weights = 0;  // offset among the constants
    std::size_t table = 0;
  };

  /// Returns the weights that begin at an offset among the constants.
  [[nodiscard]] FieldWeights weights_at(const float* constants, std::size_t offset) const;
  void add_axes(std::size_t axes);
  void add_slope_weights();
  void add_tables();

  GridShape grid_;
  Derivative derivative_;
  bool per_channel_;
  bool has_weights_;
  bool are_of_numbers_;  // not of points
  bool skips_missing_;
  int axes_ = 0;  // with derivatives
  Axis axis_[FieldDerivatives::max_axes] = {};
  std::vector<float> constants_;
};

}  // namespace mylos
