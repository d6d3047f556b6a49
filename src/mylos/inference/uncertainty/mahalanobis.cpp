#include "mylos/inference/uncertainty/mahalanobis.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/inference/input_check.hpp"

namespace mylos {
namespace {

/// A part of a matrix: the rows and columns of `kept`.
std::vector<double> kept_part(std::span<const double> matrix, std::size_t n,
                              const std::vector<std::size_t>& kept) {
  const std::size_t m = kept.size();
  std::vector<double> part(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) part[i * m + j] = matrix[kept[i] * n + kept[j]];
  }
  return part;
}

/// Returns the inverse of the lower triangular matrix.
std::vector<double> inverse_of_lower(const std::vector<double>& lower, std::size_t n) {
  std::vector<double> inverse(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = &inverse[i * n];
    for (std::size_t k = 0; k < i; ++k) {  // by rows: the inner loop is contiguous
      const double factor = lower[i * n + k];
      for (std::size_t j = 0; j <= k; ++j) row[j] -= factor * inverse[k * n + j];
    }
    row[i] = 1;
    for (std::size_t j = 0; j <= i; ++j) row[j] /= lower[i * n + i];
  }
  return inverse;
}

/// Returns T^T T of a lower triangular T.
std::vector<double> square_of_lower(const std::vector<double>& lower, std::size_t n) {
  std::vector<double> square(n * n);
  for (std::size_t k = 0; k < n; ++k) {
    const double* const row = &lower[k * n];
    for (std::size_t i = 0; i <= k; ++i) {
      for (std::size_t j = 0; j <= i; ++j) square[i * n + j] += row[i] * row[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) square[j * n + i] = square[i * n + j];
  }
  return square;
}

bool is_symmetric(std::span<const double> matrix, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (matrix[i * n + j] != matrix[j * n + i]) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<double>> cholesky(std::span<const double> matrix, std::size_t n, double min_pivot) {
  std::vector<double> lower(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = &lower[i * n];
    for (std::size_t j = 0; j <= i; ++j) {
      const double* const other = &lower[j * n];
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t k = 0; k < j; ++k) sum += row[k] * other[k];
      const double rest = matrix[i * n + j] - sum;
      if (j < i) {
        row[j] = rest / other[j];
      } else if (rest > min_pivot) {
        row[i] = std::sqrt(rest);
      } else {
        return std::nullopt;  // NaN too
      }
    }
  }
  return lower;
}

RidgedInverse ridged_inverse(std::span<const double> covariance, std::span<const double> deviation) {
  const std::size_t n = deviation.size();
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < n; ++i) {
    if (deviation[i] > 0) kept.push_back(i);
  }
  const std::size_t m = kept.size();
  std::vector<double> correlation = kept_part(covariance, n, kept);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      double& value = correlation[i * m + j];
      value = i == j ? 1 : value / deviation[kept[i]] / deviation[kept[j]];
    }
  }
  RidgedInverse inverse;
  std::optional<std::vector<double>> lower = cholesky(correlation, m, input_ridge);
  if (!lower) {
    inverse.ridge = input_ridge;
    for (std::size_t i = 0; i < m; ++i) correlation[i * m + i] += input_ridge;
    lower = cholesky(correlation, m, 0);  // correlations have no eigenvalue below 0, but for rounding
  }
  const std::vector<double> part = square_of_lower(inverse_of_lower(*lower, m), m);
  inverse.matrix.resize(n * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      // Symmetric to the last bit: the division by both deviations is one by their product.
      const double scale = deviation[kept[i]] * deviation[kept[j]];
      inverse.matrix[kept[i] * n + kept[j]] = part[i * m + j] / scale;
    }
  }
  return inverse;
}

std::optional<std::vector<double>> distance_factor(std::span<const double> matrix, std::size_t n) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = matrix.subspan(i * n, n);
    if (std::any_of(row.begin(), row.end(), [](double value) { return value != 0; })) kept.push_back(i);
  }
  if (!is_symmetric(matrix, n)) return std::nullopt;
  // matrix = L L^T with L lower triangular gives F = L^T.
  const std::size_t m = kept.size();
  const std::optional<std::vector<double>> lower = cholesky(kept_part(matrix, n, kept), m, 0);
  if (!lower) return std::nullopt;
  std::vector<double> factor(n * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = i; j < m; ++j) factor[kept[i] * n + kept[j]] = (*lower)[j * m + i];
  }
  return factor;
}

}  // namespace mylos
