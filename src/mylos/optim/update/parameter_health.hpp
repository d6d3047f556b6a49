// ParameterHealth: sums over a parameter's gradient and weights, computed by the pass that updates them.
//
// A pass stores sums of its blocks, which are then added in order, so that results do not depend on threads.
// The records of the last observed steps are stored in a ring in device memory: a step needs no host.
#pragma once

#include <vector>

#include "mylos/kernels/launch/launch.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// Sums of a parameter, or of a part of it. Gradients are those of the mean loss, before clipping. Values
/// that are not finite are counted and excluded from the sums.
struct ParameterHealth {
  double gradient_squares = 0;  // 0 if all gradients are below 1e-23
  double weight_squares = 0;    // after the update
  double change_squares = 0;    // by the update; 0 if the step was skipped
  float largest_gradient = 0;   // magnitude
  float largest_weight = 0;     // magnitude
  // Counts of the gradients as stored, that is, multiplied by the loss scale.
  std::int64_t zeros = 0;
  std::int64_t subnormals = 0;
  std::int64_t non_finite = 0;
  std::int64_t count = 0;

  KOKKOS_INLINE_FUNCTION ParameterHealth& operator+=(const ParameterHealth& other) {
    gradient_squares += other.gradient_squares;
    weight_squares += other.weight_squares;
    change_squares += other.change_squares;
    largest_gradient = Kokkos::fmax(largest_gradient, other.largest_gradient);
    largest_weight = Kokkos::fmax(largest_weight, other.largest_weight);
    zeros += other.zeros;
    subnormals += other.subnormals;
    non_finite += other.non_finite;
    count += other.count;
    return *this;
  }
};

class HealthRing {
 public:
  HealthRing() = default;
  /// Allocates `records` records, each of all parameters.
  HealthRing(std::int64_t records, const ParameterLayout& layout);
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t records, const ParameterLayout& layout);

  [[nodiscard]] std::int64_t records() const { return static_cast<std::int64_t>(records_.extent(0)); }
  /// Returns the record of all parameters by slot, in device memory.
  [[nodiscard]] ParameterHealth* record(std::int64_t index) const {
    return records_.data() + index * parameters();
  }
  [[nodiscard]] std::int64_t parameters() const { return static_cast<std::int64_t>(records_.extent(1)); }
  /// Returns the sums of the blocks of one pass at a time, in device memory.
  [[nodiscard]] ParameterHealth* blocks() const { return blocks_.data(); }
  /// Returns a record after `exec` has completed its work: this rank's part of each parameter, by slot.
  [[nodiscard]] std::vector<ParameterHealth> read(const Execution& exec, std::int64_t index) const;

 private:
  Kokkos::View<ParameterHealth**, Kokkos::LayoutRight, Device> records_;
  Kokkos::View<ParameterHealth*, Device> blocks_;
};

}  // namespace mylos

template <>
struct Kokkos::reduction_identity<mylos::ParameterHealth> {
  KOKKOS_FORCEINLINE_FUNCTION static mylos::ParameterHealth sum() { return {}; }
};
