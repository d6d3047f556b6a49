// The algebra of Mahalanobis distances: covariances that may be singular, and their inverses.
//
// Matrices are [n, n] by rows, in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mylos {

/// Returns the lower triangular L of matrix = L L^T; nothing where a pivot is not above `min_pivot`.
[[nodiscard]] std::optional<std::vector<double>> cholesky(std::span<const double> matrix, std::size_t n,
                                                          double min_pivot);

struct RidgedInverse {
  std::vector<double> matrix;  // [n, n]; rows and columns of constant inputs are 0
  double ridge = 0;
};

/// Returns the inverse of a covariance, as InputStatistics describes it. `deviation` is 0 for the inputs that
/// count as constant.
[[nodiscard]] RidgedInverse ridged_inverse(std::span<const double> covariance,
                                           std::span<const double> deviation);

/// Returns the upper triangular F of matrix = F^T F, with zero rows for the inputs whose row of the matrix is
/// 0; nothing if the others are not symmetric and positive definite. The distance of x is |F (x - mean)|.
[[nodiscard]] std::optional<std::vector<double>> distance_factor(std::span<const double> matrix,
                                                                 std::size_t n);

/// Returns |F z|^2. `factor`: [n, n]; what lies below its diagonal is not read.
[[nodiscard]] inline double squared_distance(const double* factor, const double* z, std::int64_t n) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double* const row = factor + i * n;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = i; j < n; ++j) sum += row[j] * z[j];
    total += sum * sum;
  }
  return total;
}

}  // namespace mylos
