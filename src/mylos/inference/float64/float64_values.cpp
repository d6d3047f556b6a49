// Scaling, dense layers, activations, norms, sums, probabilities.
#include <cmath>

#include "mylos/inference/float64/float64_math.hpp"
#include "mylos/inference/float64/float64_routines.hpp"

namespace mylos::float64 {
namespace {

/// x = function(x), element by element.
template <class Function>
void apply(const Arguments& a, const Function& function) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    double* const x = a.rows[0].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { x[i] = function(x[i]); });
  }
}

void linear(const Arguments& a) {
  multiply({a.columns, a.sizes[0], a.sizes[1]}, a.constants[0], a.constants[1], a.rows[0], a.rows[1]);
}

/// The weights are [outputs][inputs].
void few_outputs(const Arguments& a) {
  const std::int64_t inputs = a.sizes[0];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    double* const y = a.rows[1].of(c);
    for (std::int64_t o = 0; o < a.sizes[1]; ++o) {
      const double* const weight = a.constants[0] + o * inputs;
      y[o] = a.constants[1][o] + sum_of(inputs, [=](std::int64_t i) { return weight[i] * x[i]; });
    }
  }
}

void scale_inputs(const Arguments& a) {
  if (a.units == Units::network) return copy_columns(a);
  const double* const shift = a.constants[0];
  const double* const scale = a.constants[1];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    double* const y = a.rows[1].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { y[i] = (x[i] - shift[i]) * scale[i]; });
  }
}

void scale_outputs(const Arguments& a) {
  if (a.units == Units::network) return copy_columns(a);
  const double* const shift = a.constants[0];
  const double* const scale = a.constants[1];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    double* const y = a.rows[1].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { y[i] = x[i] * scale[i] + shift[i]; });
  }
}

/// n means and n log variances in; means and standard deviations out.
void gaussian(const Arguments& a) {
  const std::int64_t n = a.sizes[0];
  scale_outputs(a);
  const double* const scale = a.units == Units::data ? a.constants[1] : nullptr;
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c) + n;
    double* const y = a.rows[1].of(c) + n;
    for (std::int64_t i = 0; i < n; ++i) y[i] = exp(0.5 * x[i]) * (scale == nullptr ? 1.0 : scale[i]);
  }
}

void apply_relu(const Arguments& a) {
  apply(a, [](double x) { return x < 0 ? 0 : x; });
}
void apply_gelu(const Arguments& a) {
  apply(a, [](double x) { return x * normal_distribution(x); });
}
/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
void apply_gelu_tanh(const Arguments& a) {
  apply(a, [](double x) {
    const double t = exp_minus_one(2 * 0.79788456080286535588 * x * (1 + 0.044715 * x * x));
    return x * ((t + 1) / (t + 2));
  });
}
void apply_tanh(const Arguments& a) {
  apply(a, [](double x) { return tanh(x); });
}
void apply_silu(const Arguments& a) {
  apply(a, [](double x) { return silu(x); });
}

void sigmoid_of_columns(const Arguments& a) {
  if (a.units == Units::data) apply(a, [](double x) { return sigmoid(x); });
}

void softmax(const Arguments& a) {
  if (a.units == Units::network) return;
  const std::int64_t n = a.sizes[0];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    double* const x = a.rows[0].of(c);
    double most = x[0];
    for (std::int64_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
    for_each_number(n, [=](std::int64_t i) { x[i] = exp(x[i] - most); });
    const double total = sum_of(n, [=](std::int64_t i) { return x[i]; });
    for_each_number(n, [=](std::int64_t i) { x[i] /= total; });
  }
}

void layernorm(const Arguments& a) {
  const std::int64_t n = a.sizes[0];
  const double* const weight = a.constants[0];
  const double* const bias = a.constants[1];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    double* const x = a.rows[0].of(c);
    const double mean = sum_of(n, [=](std::int64_t i) { return x[i]; }) / static_cast<double>(n);
    for_each_number(n, [=](std::int64_t i) { x[i] -= mean; });
    const double squares = sum_of(n, [=](std::int64_t i) { return x[i] * x[i]; });
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + a.number);
    for_each_number(n, [=](std::int64_t i) { x[i] = x[i] * scale * weight[i] + bias[i]; });
  }
}

void rmsnorm(const Arguments& a) {
  const std::int64_t n = a.sizes[0];
  const double* const weight = a.constants[0];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    double* const x = a.rows[0].of(c);
    const double squares = sum_of(n, [=](std::int64_t i) { return x[i] * x[i]; });
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + a.number);
    for_each_number(n, [=](std::int64_t i) { x[i] *= scale * weight[i]; });
  }
}

/// By the statistics of the training; scale = weight / sqrt(variance + epsilon).
void batchnorm(const Arguments& a) {
  const auto [mean, scale, bias] = a.constants;
  for (std::int64_t c = 0; c < a.columns; ++c) {
    double* const x = a.rows[0].of(c);
    for_each_number(a.sizes[0], [=, mean = mean, scale = scale, bias = bias](std::int64_t i) {
      x[i] = (x[i] - mean[i]) * scale[i] + bias[i];
    });
  }
}

void add(const Arguments& a) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    double* const y = a.rows[1].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { y[i] += x[i]; });
  }
}

void add_scaled(const Arguments& a) {
  const double* const factor = a.constants[0];
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    double* const y = a.rows[1].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { y[i] += factor[i] * x[i]; });
  }
}

constexpr NamedRoutine table[] = {{"linear", linear},
                                  {"few_outputs", few_outputs},
                                  {"copy", copy_columns},
                                  {"scale_inputs", scale_inputs},
                                  {"scale_outputs", scale_outputs},
                                  {"gaussian", gaussian},
                                  {"apply_relu", apply_relu},
                                  {"apply_gelu", apply_gelu},
                                  {"apply_gelu_tanh", apply_gelu_tanh},
                                  {"apply_tanh", apply_tanh},
                                  {"apply_silu", apply_silu},
                                  {"sigmoid", sigmoid_of_columns},
                                  {"softmax", softmax},
                                  {"layernorm", layernorm},
                                  {"rmsnorm", rmsnorm},
                                  {"batchnorm", batchnorm},
                                  {"add", add},
                                  {"add_scaled", add_scaled}};

}  // namespace

void copy_columns(const Arguments& a) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double* const x = a.rows[0].of(c);
    double* const y = a.rows[1].of(c);
    for_each_number(a.sizes[0], [=](std::int64_t i) { y[i] = x[i]; });
  }
}

Routine find_value_routine(std::string_view name) {
  for (const NamedRoutine& each : table)
    if (each.name == name) return each.routine;
  return nullptr;
}

Routine find_routine(std::string_view name) {
  const Routine found = find_value_routine(name);
  return found != nullptr ? found : find_slope_routine(name);
}

}  // namespace mylos::float64
