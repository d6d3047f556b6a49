// The sums behind mean and standard deviation over the members of an ensemble, of one number; on hosts and in
// kernels.
//
// With members that predict x_i the mean is m = sum x_i / n and the standard deviation that of a sample,
// sqrt(sum (x_i - m)^2 / (n - 1)). Members that predict variances v_i as well are the components of a mixture
// of equal weights, whose standard deviation is sqrt(sum v_i / n + sum (x_i - m)^2 / n) (Lakshminarayanan,
// Pritzel, Blundell, "Simple and scalable predictive uncertainty estimation using deep ensembles", NeurIPS
// 2017). Sums are updated in double by Welford's method (Technometrics 4, 1962), so that members far from 0
// lose no digits.
#pragma once

#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

namespace mylos {

/// Adds the `count`-th member's number, counted from 1, to the mean and to the sum of squared distances from
/// it; both are 0 before the first.
KOKKOS_INLINE_FUNCTION void add_member_value(double value, double count, double& mean, double& squares) {
  const double difference = value - mean;
  mean += difference / count;
  squares += difference * (value - mean);
}

/// Adds the variance of a member that predicts this standard deviation.
KOKKOS_INLINE_FUNCTION void add_member_variance(double deviation, double& variances) {
  variances += deviation * deviation;
}

/// Returns the standard deviation of `count` members without variances; 0 of one.
KOKKOS_INLINE_FUNCTION double deviation_of_members(double squares, double count) {
  return Kokkos::sqrt(squares / (count > 1 ? count - 1 : 1));
}

/// Returns the standard deviation of `count` members with variances.
KOKKOS_INLINE_FUNCTION double deviation_of_mixture(double squares, double variances, double count) {
  return Kokkos::sqrt(variances / count + squares / count);
}

}  // namespace mylos
