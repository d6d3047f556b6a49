// Sums of real coefficients over the boxes of a sample, which a rank or several hold.
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/spectral/spectral.hpp"

namespace mylos {

/// The real coefficients of `samples` samples, in double: of each of a rank's boxes of sums, and of all
/// boxes.
class CoefficientSums {
 public:
  /// Takes the memory; none of whole samples, whose coefficients stay as they are.
  CoefficientSums(const SpectralShape& shape, Pieces& pieces, std::int64_t samples, std::int64_t channels);

  [[nodiscard]] bool empty() const { return of_boxes_.empty(); }
  /// Returns the doubles that the ranks of a sample add up.
  [[nodiscard]] const Tensor& all() const { return all_; }
  /// Stores the coefficients q of box `box` of sums.
  void store(const Execution& exec, int box, const float* q) const;
  /// Writes q = the sum over all boxes of the samples.
  void add_up(const SpectralStep& step, float* q) const;

 private:
  Tensor of_boxes_;  // [boxes of sums, coefficients]
  Tensor all_;       // [1, coefficients]; of one box, its row of these
};

}  // namespace mylos
