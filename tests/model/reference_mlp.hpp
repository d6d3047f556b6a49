// Reference layers, forward only, in double and as the formulas read; gradients by central differences. They
// share no code with the library except the random words of dropout, whose definition dropout.hpp documents.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos::test {

using Numbers = std::vector<double>;

inline double activation_value(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

/// Returns d function / d value at its present value; restores the value.
inline double central_difference(double& value, const std::function<double()>& function) {
  const double at = value;
  const double h = 1e-5;
  value = at + h;
  const double above = function();
  value = at - h;
  const double below = function();
  value = at;
  return (above - below) / (2 * h);
}

inline Numbers central_differences(Numbers& values, const std::function<double()>& function) {
  Numbers gradient;
  for (double& value : values) gradient.push_back(central_difference(value, function));
  return gradient;
}

/// y = mask ∘ activation(x·Wᵀ + b); weight [outputs, inputs]. An empty mask is ones.
struct ReferenceDense {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  Activation activation = Activation::none;
  Numbers weight = {}, bias = {}, mask = {};

  [[nodiscard]] Numbers pre_activation(const Numbers& x) const {
    const std::size_t rows = x.size() / inputs;
    Numbers z(rows * outputs);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t j = 0; j < outputs; ++j) {
        double sum = bias[j];
        for (std::size_t i = 0; i < inputs; ++i) sum += x[r * inputs + i] * weight[j * inputs + i];
        z[r * outputs + j] = sum;
      }
    }
    return z;
  }
  [[nodiscard]] Numbers forward(const Numbers& x) const {
    Numbers y = pre_activation(x);
    for (std::size_t e = 0; e < y.size(); ++e) {
      y[e] = activation_value(activation, y[e]) * (mask.empty() ? 1 : mask[e]);
    }
    return y;
  }
};

/// y = gamma ∘ (x - mean) / sqrt(variance + epsilon) + beta
struct ReferenceNorm {
  std::size_t width = 0;
  double epsilon = 1e-5;
  Numbers gamma = {}, beta = {};

  [[nodiscard]] Numbers forward(const Numbers& x) const {
    Numbers y(x.size());
    for (std::size_t start = 0; start < x.size(); start += width) {
      double mean = 0;
      for (std::size_t i = 0; i < width; ++i) mean += x[start + i] / static_cast<double>(width);
      double variance = 0;
      for (std::size_t i = 0; i < width; ++i) {
        variance += (x[start + i] - mean) * (x[start + i] - mean) / static_cast<double>(width);
      }
      for (std::size_t i = 0; i < width; ++i) {
        y[start + i] = gamma[i] * (x[start + i] - mean) / std::sqrt(variance + epsilon) + beta[i];
      }
    }
    return y;
  }
};

/// Sum over the rows of -log softmax(logits)[label].
inline double cross_entropy(const Numbers& logits, const std::vector<std::int32_t>& labels) {
  const std::size_t classes = logits.size() / labels.size();
  double loss = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logits[r * classes + c]);
    loss += std::log(sum) - logits[r * classes + static_cast<std::size_t>(labels[r])];
  }
  return loss;
}

/// Sum over the rows of the mean over the columns of the squared error.
inline double squared_error(const Numbers& predictions, const std::vector<float>& targets,
                            std::size_t columns) {
  double loss = 0;
  for (std::size_t e = 0; e < predictions.size(); ++e) {
    const double error = predictions[e] - static_cast<double>(targets[e]);
    loss += error * error / static_cast<double>(columns);
  }
  return loss;
}

/// The factors of dropout, by its published definition.
inline Numbers dropout_mask(std::uint64_t seed, const std::string& layer, double probability,
                            std::uint64_t step, std::uint64_t first_sample, std::size_t rows,
                            std::size_t columns) {
  const RandomStream stream(seed, RandomPurpose::dropout, layer);
  Numbers mask;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const bool survives = stream.word(step, first_sample + r, c) < (1 - probability) * 4294967296.0;
      mask.push_back(survives ? 1 / (1 - probability) : 0);
    }
  }
  return mask;
}

}  // namespace mylos::test
