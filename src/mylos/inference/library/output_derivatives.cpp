#include "mylos/inference/library/output_derivatives.hpp"

#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

void seed_from_means(const Execution& exec, std::int64_t channels, const ConstTensor& d_means,
                     const Tensor& seed) {
  const auto* const from = d_means.as<float>();
  auto* const to = seed.as<float>();
  for_each_index(
      exec, "seed of means", seed.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t point = i / (2 * channels);
        const std::int64_t channel = i - point * 2 * channels;
        to[i] = channel < channels ? from[point * channels + channel] : 0.0f;
      });
}

void seed_from_classes(const Execution& exec, const ConstTensor& logits, const ConstTensor& d_probabilities,
                       const Tensor& seed) {
  const auto* const z = logits.as<float>();
  const auto* const from = d_probabilities.as<float>();
  auto* const to = seed.as<float>();
  const std::int64_t classes = logits.columns();
  for_each_index(
      exec, "seed of classes", logits.rows(), KOKKOS_LAMBDA(std::int64_t row) {
        const float* const own = z + row * classes;
        const float* const d = from + row * classes;
        float most = own[0];
        for (std::int64_t c = 1; c < classes; ++c) most = own[c] > most ? own[c] : most;
        double sum = 0;
        double mean = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
          const double e = Kokkos::exp(static_cast<double>(own[c]) - most);
          sum += e;
          mean += e * d[c];
        }
        mean /= sum;
        for (std::int64_t c = 0; c < classes; ++c) {
          const double p = Kokkos::exp(static_cast<double>(own[c]) - most) / sum;
          to[row * classes + c] = static_cast<float>(p * (d[c] - mean));
        }
      });
}

void seed_from_probabilities(const Execution& exec, const ConstTensor& logits,
                             const ConstTensor& d_probabilities, const Tensor& seed) {
  const auto* const z = logits.as<float>();
  const auto* const from = d_probabilities.as<float>();
  auto* const to = seed.as<float>();
  for_each_index(
      exec, "seed of logits", logits.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const double p = 1 / (1 + Kokkos::exp(-static_cast<double>(z[i])));
        to[i] = static_cast<float>(p * (1 - p) * from[i]);
      });
}

}  // namespace

void seed_from_outputs(const Execution& exec, Prediction prediction, bool are_logits, std::int64_t channels,
                       const ConstTensor& computed, const ConstTensor& d_outputs, const Tensor& seed) {
  if (prediction == Prediction::distributions) return seed_from_means(exec, channels, d_outputs, seed);
  if (prediction == Prediction::numbers || are_logits) return convert(exec, d_outputs, seed);
  if (prediction == Prediction::classes) return seed_from_classes(exec, computed, d_outputs, seed);
  seed_from_probabilities(exec, computed, d_outputs, seed);
}

void repeat_for_outputs(const Execution& exec, const ConstTensor& samples, std::int64_t first,
                        const double* inverse, const Tensor& to, const Tensor& d_outputs) {
  const auto* const from = samples.as<float>();
  auto* const rows = to.as<float>();
  auto* const seeds = d_outputs.as<float>();
  const std::int64_t inputs = to.columns();
  const std::int64_t outputs = d_outputs.columns();
  const std::int64_t of_sample = to.rows() / samples.rows();
  for_each_index(
      exec, "repeated rows", to.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t row = i / inputs;
        rows[i] = from[row / of_sample * inputs + (i - row * inputs)];
      });
  for_each_index(
      exec, "unit vectors", d_outputs.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t row = i / outputs;
        const std::int64_t output = i - row * outputs;
        const bool is_own = output == first + row % of_sample;
        seeds[i] = !is_own ? 0.0f : inverse == nullptr ? 1.0f : static_cast<float>(inverse[output]);
      });
}

}  // namespace mylos
