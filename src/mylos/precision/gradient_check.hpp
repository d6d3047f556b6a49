// GradientCheck: one pass that only reads this rank's slices of the reduced gradients, for their squared norm
// and for values that are not finite. Gradients stay scaled: unscaled ones would underflow in a half buffer.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/precision/exact_squares.hpp"

namespace mylos {

class GradientCheck {
 public:
  /// `slices`: one per bucket; `divisors`: by what each is still to be divided beside the scale. With
  /// `exact`, of the same slices, the norm does not depend on how gradients are shared out over ranks: they
  /// are floats then, and the divisors equal.
  GradientCheck(std::span<const Tensor> slices, std::span<const float> divisors, int rank,
                std::optional<ExactSquares> exact = std::nullopt);

  /// Writes overflow flag, loss scale and squared norm of (gradient / scale) into what this rank brings to
  /// the agreement. `scale` is device memory.
  void run(const Execution& exec, const float* scale, const AgreementBuffer& agreement) const;
  /// What a check of slices of these lengths takes.
  [[nodiscard]] static std::size_t memory_bytes(std::span<const std::int64_t> lengths, bool exact = false);

 private:
  std::vector<Tensor> slices_;
  Kokkos::View<float*, Device> divisors_;
  Kokkos::View<double*, Device> sums_;  // of squares, per slice
  Arena workspace_;
  std::optional<ExactSquares> exact_;
  int rank_;
};

}  // namespace mylos
