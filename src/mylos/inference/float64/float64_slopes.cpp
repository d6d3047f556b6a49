// Derivatives: of the routine with the name without "_slope", times dx; x and y are its argument and result.
#include <cmath>

#include "mylos/inference/float64/float64_math.hpp"
#include "mylos/inference/float64/float64_routines.hpp"

namespace mylos::float64 {
namespace {

/// dy = slope(value) dx, where value are x or y: (n, value, dx, dy).
template <class Slope>
void times_slope(const Arguments& a, const Slope& slope) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const value = a.rows[0].of(c);
    const double* const dx = a.rows[1].of(c);
    double* const dy = a.rows[2].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { dy[i] = slope(value[i]) * dx[i]; });
  }
}

/// dy = factor dx: (n, factor, dx, dy).
void multiply_columns(const Arguments& a) {
  const double* const factor = a.constants[0];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const dx = a.rows[0].of(c);
    double* const dy = a.rows[1].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { dy[i] = factor[i] * dx[i]; });
  }
}

void scale_by(const Arguments& a) {
  a.units == Units::network ? copy_columns(a) : multiply_columns(a);
}

/// to[c] = sum over r of from[r] C[r, c]: (rows, columns, C, from, to).
void sum_of_rows(const Arguments& a) {
  multiply({a.columns, a.sizes[0], a.sizes[1]}, a.constants[0], nullptr, a.rows[0], a.rows[1]);
}

/// to[r] = sum over c of C[r, c] from[c], by the transposed C, which Float64Network holds for it.
void row_products(const Arguments& a) {
  multiply({a.columns, a.sizes[1], a.sizes[0]}, a.constants[0], nullptr, a.rows[0], a.rows[1]);
}

void relu_slope(const Arguments& a) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    const double* const dx = a.rows[1].of(c);
    double* const dy = a.rows[2].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { dy[i] = x[i] > 0 ? dx[i] : 0; });
  }
}
void gelu_slope(const Arguments& a) {
  times_slope(a, [](double x) { return normal_distribution(x) + x * normal_density(x); });
}
void gelu_tanh_slope(const Arguments& a) {
  times_slope(a, [](double x) {
    constexpr double root = 0.79788456080286535588;  // sqrt(2 / pi)
    const double t = tanh(root * x * (1 + 0.044715 * x * x));
    return 0.5 * (1 + t + x * (1 - t * t) * root * (1 + 0.134145 * x * x));
  });
}
void tanh_slope(const Arguments& a) {
  times_slope(a, [](double x) {
    const double t = tanh(x);
    return 1 - t * t;
  });
}
void silu_slope(const Arguments& a) {
  times_slope(a, [](double x) {
    const double share = sigmoid(x);
    return share * (1 + x * (1 - share));
  });
}

/// The arguments without the value that the slope of softmax and sigmoid read: (n, dx, dy).
Arguments without_value(Arguments a) {
  a.rows = {a.rows[1], a.rows[2], {}};
  return a;
}

void sigmoid_slope(const Arguments& a) {
  if (a.units == Units::network) return copy_columns(without_value(a));
  times_slope(a, [](double y) { return y * (1 - y); });
}

void softmax_slope(const Arguments& a) {
  if (a.units == Units::network) return copy_columns(without_value(a));
  const std::int64_t n = a.sizes[0];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const y = a.rows[0].of(c);
    const double* const dx = a.rows[1].of(c);
    double* const dy = a.rows[2].of(c);
    const double mean = sum_of(n, [=](std::int64_t i) { return y[i] * dx[i]; });
    for_each_number(n, [=](std::int64_t i) { dy[i] = y[i] * (dx[i] - mean); });
  }
}

void gaussian_slope(const Arguments& a) {
  const std::int64_t n = a.sizes[0];
  const double* const scale = a.units == Units::data ? a.constants[0] : nullptr;
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const y = a.rows[0].of(c);
    const double* const dx = a.rows[1].of(c);
    double* const dy = a.rows[2].of(c);
    for (std::int64_t i = 0; i < n; ++i) dy[i] = scale == nullptr ? dx[i] : dx[i] * scale[i];
    for_each_number(n, [=](std::int64_t i) { dy[n + i] = 0.5 * y[n + i] * dx[n + i]; });
  }
}

/// Without the weights. dy also holds the normalised x in between.
void layernorm_slope(const Arguments& a) {
  const std::int64_t n = a.sizes[0];
  const auto count = static_cast<double>(n);
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    const double* const dx = a.rows[1].of(c);
    double* const dy = a.rows[2].of(c);
    const double mean = sum_of(n, [=](std::int64_t i) { return x[i]; }) / count;
    for_each_number(n, [=](std::int64_t i) { dy[i] = x[i] - mean; });
    const double squares = sum_of(n, [=](std::int64_t i) { return dy[i] * dy[i]; });
    const double scale = 1 / std::sqrt(squares / count + a.number);
    for_each_number(n, [=](std::int64_t i) { dy[i] *= scale; });
    const double shift = sum_of(n, [=](std::int64_t i) { return dx[i]; }) / count;
    const double slope = sum_of(n, [=](std::int64_t i) { return dy[i] * dx[i]; }) / count;
    for_each_number(n, [=](std::int64_t i) { dy[i] = scale * (dx[i] - shift - dy[i] * slope); });
  }
}

/// Likewise.
void rmsnorm_slope(const Arguments& a) {
  const std::int64_t n = a.sizes[0];
  const auto count = static_cast<double>(n);
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    const double* const dx = a.rows[1].of(c);
    double* const dy = a.rows[2].of(c);
    const double squares = sum_of(n, [=](std::int64_t i) { return x[i] * x[i]; });
    const double scale = 1 / std::sqrt(squares / count + a.number);
    for_each_number(n, [=](std::int64_t i) { dy[i] = x[i] * scale; });
    const double slope = sum_of(n, [=](std::int64_t i) { return dy[i] * dx[i]; }) / count;
    for_each_number(n, [=](std::int64_t i) { dy[i] = scale * (dx[i] - dy[i] * slope); });
  }
}

constexpr NamedRoutine slopes[] = {{"scale_by", scale_by},
                                   {"multiply", multiply_columns},
                                   {"sum_of_rows", sum_of_rows},
                                   {"row_products", row_products},
                                   {"relu_slope", relu_slope},
                                   {"gelu_slope", gelu_slope},
                                   {"gelu_tanh_slope", gelu_tanh_slope},
                                   {"tanh_slope", tanh_slope},
                                   {"silu_slope", silu_slope},
                                   {"sigmoid_slope", sigmoid_slope},
                                   {"softmax_slope", softmax_slope},
                                   {"gaussian_slope", gaussian_slope},
                                   {"layernorm_slope", layernorm_slope},
                                   {"rmsnorm_slope", rmsnorm_slope}};

}  // namespace

Routine find_slope_routine(std::string_view name) {
  for (const NamedRoutine& each : slopes)
    if (each.name == name) return each.routine;
  return nullptr;
}

}  // namespace mylos::float64
