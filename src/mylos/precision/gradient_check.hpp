// GradientCheck: one read-only pass over this rank's slices of the reduced gradients that computes their
// squared norm and detects values that are not finite. Gradients stay scaled: unscaled ones would underflow
// in a half buffer.
#pragma once

#include <optional>
#include <span>

#include "mylos/base/device/device_array.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/kernels/launch/reduce.hpp"
#include "mylos/precision/exact_squares.hpp"

namespace mylos {

class GradientCheck {
 public:
  /// `slices`: one per bucket. `divisors`: by what each slice must still be divided, in addition to the loss
  /// scale. With `exact` (of the same slices) the norm does not depend on the distribution of gradients over
  /// ranks; slices must then be float and divisors equal.
  GradientCheck(std::span<const Tensor> slices, std::span<const float> divisors, int rank,
                std::optional<ExactSquares> exact = std::nullopt);

  /// Writes overflow flag, loss scale and squared norm of (gradient / scale) to this rank's part of the
  /// agreement. `scale` is device memory.
  void run(const Execution& exec, const float* scale, const AgreementBuffer& agreement) const;
  /// Returns the bytes of a check of slices of these lengths.
  [[nodiscard]] static std::size_t memory_bytes(std::span<const std::int64_t> lengths, bool exact = false);

 private:
  DeviceArray<float> divisors_;
  DeviceArray<double> sums_;  // of squares, per slice
  std::optional<SumsOfSquares> squares_;
  std::optional<ExactSquares> exact_;
  int rank_;
};

}  // namespace mylos
