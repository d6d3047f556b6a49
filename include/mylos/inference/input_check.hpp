// What a model knows about the inputs that it was trained on, and how Model::check_inputs() compares others
// with them.
//
//   Kokkos::View<std::uint8_t*> flags("flags", columns);
//   model.check_inputs(exec, x, flags);        // 0: like the training samples
//
// A network answers any input, even one that is far from everything it was trained on. A program can read the
// flags and compute such samples itself. Two measures apply to the inputs in data units, as floats, as
// infer() reads them:
//
//   range     each input, or each channel of a grid, against its minimum and maximum in training
//   distance  of Mahalanobis: d^2 = (x - mean)^T inverse_covariance (x - mean), which also sees inputs whose
//             values are each within their range but were never together. Of networks whose samples are
//             vectors of at most max_distance_inputs, in files that `mylos export` or `mylos calibrate` wrote
//             with --input-statistics
//
// For n normally distributed inputs, d^2 follows a chi-squared distribution with n degrees of freedom. Inputs
// are seldom normal, so the file has quantiles of the distances of the training samples themselves.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "mylos/inference/array_view.hpp"

namespace mylos {

/// The bits of a flag. A sample that is not finite has all the bits that were requested.
namespace input_flag {
/// An input is below the minimum or above the maximum.
inline constexpr std::uint8_t outside_range = 1;
/// The distance is above the limit.
inline constexpr std::uint8_t far = 2;
/// An input is inf or NaN.
inline constexpr std::uint8_t not_finite = 4;
}  // namespace input_flag

/// Distances are computed for vectors of at most this number of inputs.
inline constexpr std::int64_t max_distance_inputs = 1024;

/// The statistics of the training samples' inputs, in data units. Sums are in double, in an order that
/// depends on the number of samples alone.
struct InputStatistics {
  /// The minima of each input, or of each channel of a grid. Empty: the file does not contain them.
  std::vector<double> minimum;
  /// The maxima, likewise.
  std::vector<double> maximum;

  /// The vectors that follow have a value for each input, and are empty if the file has no statistics for
  /// distances.
  std::int64_t samples = 0;
  /// The mean.
  std::vector<double> mean;
  /// The standard deviation (n - 1); 0: the input is constant in training, up to float rounding. Such an
  /// input is judged by its range only.
  std::vector<double> deviation;
  /// [inputs, inputs], by rows: D (R + ridge I)^-1 D, where D = 1 / deviation on the diagonal, 0 for constant
  /// inputs, and R is the matrix of correlations of the others.
  std::vector<double> inverse_covariance;
  /// 0, or input_ridge if an input follows from those before it, that is, if a pivot of R's Cholesky
  /// factorisation (the part of an input's variance that they leave unexplained) is below input_ridge.
  /// Samples that violate such a relation are far: a thousandth of a standard deviation counts as much as a
  /// whole one elsewhere.
  double ridge = 0;
  /// The quantiles 0.99 and 0.999 of the training samples' distances, interpolated linearly between samples,
  /// and the largest.
  std::array<double, 3> distances{};

  /// Returns whether ranges can be compared.
  [[nodiscard]] bool has_range() const { return !minimum.empty(); }
  /// Returns whether distances can be computed.
  [[nodiscard]] bool has_distance() const { return !mean.empty(); }
};

/// The ridge for inputs of which one follows from others (InputStatistics::ridge).
inline constexpr double input_ridge = 1e-6;

/// What check_inputs() compares. It always checks that inputs are finite.
struct InputCheck {
  bool range = true;     // ranges are compared
  bool distance = true;  // distances are computed
  double limit = 0;      // distances above it are far; 0: the quantile 0.999 of the file
};

/// Flags that are written, one byte for each sample: the dimensions of an array of inputs before those of a
/// sample.
struct FlagArray {
  std::uint8_t* data = nullptr;  // of the first sample
  int rank = 0;                  // 1 to max_array_rank - 1
  ArrayExtents extents{};        // the first `rank` count
  ArrayExtents strides{};        // in bytes
  bool on_device = false;        // true: memory that the host cannot read, in a build for devices
};

/// Returns the flags of a view of std::uint8_t, to be written.
template <ArrayView View>
[[nodiscard]] FlagArray flag_array_of(const View& view) {
  constexpr int rank = static_cast<int>(View::rank);
  static_assert(std::is_same_v<typename View::value_type, std::uint8_t>, "flags are std::uint8_t");
  static_assert(rank >= 1 && rank <= max_array_rank, "arrays have 1 to 5 dimensions");
  FlagArray array;
  array.data = view.data();
  array.rank = rank;
  for (int d = 0; d < rank; ++d) {
    array.extents[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(view.extent(d));
    array.strides[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(view.stride(d));
  }
  array.on_device = !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible;
  return array;
}

}  // namespace mylos
