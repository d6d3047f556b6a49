// The bounds of a piece of outputs, in data units, where kernels run.
#pragma once

#include <cstddef>
#include <optional>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"

namespace mylos {

/// A calibration in the memory of kernels.
class BoundTables {
 public:
  /// Allocates memory_bytes().
  explicit BoundTables(const std::optional<ConformalCalibration>& calibration);
  [[nodiscard]] static std::size_t memory_bytes(const std::optional<ConformalCalibration>& calibration);

  enum class Side { lower, upper };
  /// Writes mean - half width, or mean + half width, rounded to float once. `deviations`: of scaled scores.
  void write(const Execution& exec, Side side, const Tensor& means, const Tensor& deviations,
             const Tensor& bounds) const;

 private:
  Arena arena_;
  const double* quantiles_ = nullptr;
  std::int64_t count_ = 0;
  bool is_scaled_ = false;
};

}  // namespace mylos
