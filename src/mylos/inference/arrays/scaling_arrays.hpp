// ScalingArrays: the shifts and scales of a network's inputs and targets where kernels read them.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/arrays/sample_transfer.hpp"

namespace mylos {

/// Returns a copy of the values in the next piece, which kernels read; null if there are none.
[[nodiscard]] const double* copied_for_kernels(const std::vector<double>& values, Pieces& pieces);

class ScalingArrays {
 public:
  /// Allocates memory_bytes().
  explicit ScalingArrays(const Normalizer& normalizer);
  [[nodiscard]] static std::size_t memory_bytes(const Normalizer& normalizer);

  /// The scaling of inputs, and of targets; null pointers if they are not scaled.
  [[nodiscard]] const ScalingTable& inputs() const { return inputs_; }
  [[nodiscard]] const ScalingTable& targets() const { return targets_; }
  /// The scaling of standard deviations of targets: their scales, without shifts.
  [[nodiscard]] const ScalingTable& deviations() const { return deviations_; }

 private:
  Arena arena_;
  ScalingTable inputs_;
  ScalingTable targets_;
  ScalingTable deviations_;
};

}  // namespace mylos
