// Derivative: the derivative of a field along an axis of n points that lie 1 / n apart.
#pragma once

namespace mylos {

/// `differences`: central, periodic; `one_sided`: central, at both ends by one-sided differences of third
/// order; `spectral`: of the trigonometric polynomial through all points, periodic.
enum class Derivative { differences, one_sided, spectral };

}  // namespace mylos
