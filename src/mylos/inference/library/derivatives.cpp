#include "mylos/inference/library/derivatives.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "mylos/base/tensor_views.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// Of a piece's activations and gradients, unless one sample takes more.
constexpr std::size_t max_pass_bytes = std::size_t{1} << 28;
constexpr std::int64_t max_piece = 256;

/// The network in float with gradients of its inputs.
Chain derivative_chain(const StoredNetwork& network) {
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  return make_chain(network.options.model, precision, network.options.run.seed, false, true);
}

std::int64_t samples_of_piece(const Chain& chain, const Engines& engines, std::int64_t max_samples) {
  std::int64_t samples = std::min(max_piece, max_samples);
  while (samples > 1 && InputGradient::memory_bytes(chain, engines, samples) > max_pass_bytes) samples /= 2;
  return samples;
}

ColumnScaling inverse_of(ColumnScaling scaling) {
  for (double& shift : scaling.shift) shift = 0;
  for (double& scale : scaling.scale) scale = 1 / scale;
  return scaling;
}

/// What turns derivatives of scaled values into those of values.
Normalizer derivatives_of(const Normalizer& normalizer) {
  Normalizer inverse;
  inverse.inputs = inverse_of(normalizer.inputs);
  inverse.targets = inverse_of(normalizer.targets);
  return inverse;
}

/// The samples whose Jacobians fit in a piece of `samples` rows, one for each output; at least one.
std::int64_t jacobians_of_piece(const Chain& chain, std::int64_t samples) {
  return has_jacobian(chain) ? std::max<std::int64_t>(1, samples / chain.outputs()) : 0;
}

/// The most floats that are read or written at a time.
std::int64_t staged_values(const Chain& chain, std::int64_t samples) {
  const std::int64_t of_piece = samples * std::max(chain.inputs(), chain.outputs());
  return std::max(of_piece, jacobians_of_piece(chain, samples) * chain.inputs() * chain.outputs());
}

/// The channels of a point of the outputs.
std::int64_t channels_of(const Chain& chain) {
  const std::optional<OutputField> field = chain.head->field();
  return field ? field->grid.channels : chain.outputs();
}

/// The outputs are number `chosen` of the `count` numbers that the last layer computes for each.
void seed_from_chosen(const Execution& exec, std::int64_t channels, std::int64_t count, std::int64_t chosen,
                      const ConstTensor& d_outputs, const Tensor& seed) {
  const auto* const from = d_outputs.as<float>();
  auto* const to = seed.as<float>();
  for_each_index(
      exec, "seed of means", seed.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t point = i / (count * channels);
        const std::int64_t channel = i - (point * count + chosen) * channels;
        to[i] = channel >= 0 && channel < channels ? from[point * channels + channel] : 0.0f;
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

/// Writes `seed`, like `computed` [rows, numbers of the last layer], from `d_outputs` [rows, outputs], all of
/// floats. Of distributions and quantiles the outputs are the means and those of the central level; of
/// classes the probabilities p of a softmax, d = p (d_p - sum of p d_p); of probabilities p of a sigmoid, d =
/// p (1 - p) d_p. `are_logits`: the outputs of the last two are what the last layer computes.
void seed_from_outputs(const Execution& exec, const Chain& chain, bool are_logits,
                       const ConstTensor& computed, const ConstTensor& d_outputs, const Tensor& seed) {
  const Prediction prediction = chain.prediction();
  if (const std::int64_t count = seed.columns() / d_outputs.columns(); count > 1) {
    const std::size_t chosen = chain.quantiles().empty() ? 0 : central_quantile(chain.quantiles());
    return seed_from_chosen(exec, channels_of(chain), count, static_cast<std::int64_t>(chosen), d_outputs,
                            seed);
  }
  if (is_of_numbers(prediction) || are_logits) return convert(exec, d_outputs, seed);
  if (prediction == Prediction::classes) return seed_from_classes(exec, computed, d_outputs, seed);
  seed_from_probabilities(exec, computed, d_outputs, seed);
}

/// Writes rows [sample, output] for outputs [first, first + rows / samples) of each sample: `to` repeats the
/// sample's row of `samples`; `d_outputs` is 1 / scale of that output, else 0. `inverse`: 1 / scale of each
/// output; null: 1.
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

/// Writes d_out [samples, outputs] from output `first` on: the scalar products of rows [samples, some
/// outputs] of the Jacobian with d_in [samples, inputs]. `inverse`: 1 / scale of each input; null: 1.
void multiply_rows(const Execution& exec, const ConstTensor& rows, const double* inverse,
                   const ConstTensor& d_in, std::int64_t first, const Tensor& d_out) {
  const auto* const row = rows.as<float>();
  const auto* const from = d_in.as<float>();
  auto* const to = d_out.as<float>();
  const std::int64_t inputs = rows.columns();
  const std::int64_t outputs = d_out.columns();
  const std::int64_t of_sample = rows.rows() / d_out.rows();
  for_each_index(
      exec, "row_products", rows.rows(), KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t sample = i / of_sample;
        double sum = 0;
        for (std::int64_t k = 0; k < inputs; ++k) {
          // d(scaled value) = scale d(value): `inverse` divides, as write_samples() does.
          const double derivative = static_cast<double>(row[i * inputs + k]);
          sum += (inverse == nullptr ? derivative : derivative / inverse[k]) *
                 static_cast<double>(from[sample * inputs + k]);
        }
        to[sample * outputs + first + (i - sample * of_sample)] = static_cast<float>(sum);
      });
}

/// Calls each(piece) for all samples of the range, at most `samples` at a time.
template <class Each>
void for_each_piece(const SampleSpan& range, std::int64_t samples, const Each& each) {
  for (std::int64_t done = 0; done < range.count; done += samples)
    each(SampleSpan{range.first + done, std::min(samples, range.count - done), range.to + done});
}

}  // namespace

ModelDerivatives::Tensors::Tensors(const Chain& chain, std::int64_t count, void* memory) : pieces(memory) {
  samples = pieces.take_tensor(DType::fp32, count, chain.inputs());
  inputs = pieces.take_tensor(DType::fp32, count, chain.inputs());
  d_outputs = pieces.take_tensor(DType::fp32, count, chain.outputs());
  const std::int64_t jacobians = jacobians_of_piece(chain, count);
  jacobian = pieces.take_tensor(DType::fp32, jacobians,
                                chain.inputs() * (has_jacobian(chain) ? chain.outputs() : 1));
  tangents = pieces.take_tensor(DType::fp32, jacobians, chain.inputs());
  products = pieces.take_tensor(DType::fp32, jacobians, chain.outputs());
}

DerivativeNetwork::DerivativeNetwork(const StoredNetwork& network, const Engines& engines,
                                     std::int64_t max_samples)
    : chain_(derivative_chain(network)),
      samples_(samples_of_piece(chain_, engines, max_samples)),
      weights_(chain_),
      statistics_(chain_),
      inverse_(derivatives_of(network.training.normalizer)) {}

void DerivativeNetwork::read(const CheckpointReader& reader, bool average) {
  CheckpointState state = weights_.state(average);
  add_buffers(state, statistics_);
  reader.read(state);
}

InferenceBytes DerivativeNetwork::memory(const StoredNetwork& network, const Engines& engines,
                                         std::int64_t max_samples) {
  const Chain chain = derivative_chain(network);
  const std::int64_t samples = samples_of_piece(chain, engines, max_samples);
  return {.weights = ComputeWeights::memory_bytes(chain),
          .statistics = BufferStore::memory_bytes(chain) +
                        ScalingArrays::memory_bytes(derivatives_of(network.training.normalizer)),
          .workspace = BufferStore::memory_bytes(chain) +
                       InputGradient::memory_bytes(chain, engines, samples) +
                       ModelDerivatives::Tensors(chain, samples, nullptr).pieces.bytes() +
                       HostStaging::memory_bytes(staged_values(chain, samples))};
}

ModelDerivatives::ModelDerivatives(std::shared_ptr<const DerivativeNetwork> network,
                                   const ScalingArrays& scaling, const Engines& engines)
    : network_(std::move(network)),
      scaling_(scaling),
      buffers_(chain()),
      gradient_(chain(), network_->weights().of_stages(), buffers_, engines, network_->samples()),
      memory_("derivatives", Tensors(chain(), network_->samples(), nullptr).pieces.bytes()),
      tensors_(chain(), network_->samples(), memory_.data()),
      staging_(staged_values(chain(), network_->samples())) {
  copy_statistics(Execution(), network_->statistics(), buffers_);
}

ScalingTable ModelDerivatives::inputs(Units units) const {
  return units == Units::data ? scaling_.inputs() : ScalingTable{};
}

ScalingTable ModelDerivatives::derivatives_of_inputs(Units units) const {
  return units == Units::data ? network_->inverse().inputs() : ScalingTable{};
}

ScalingTable ModelDerivatives::derivatives_of_outputs(Units units) const {
  return units == Units::data && is_of_numbers(chain().prediction()) ? network_->inverse().targets()
                                                                     : ScalingTable{};
}

ConstTensor ModelDerivatives::pull_back(const Execution& exec, const ConstTensor& inputs,
                                        const ConstTensor& d_outputs, Units units) {
  const ConstTensor computed = gradient_.forward(exec, inputs);
  seed_from_outputs(exec, chain(), units == Units::network, computed, d_outputs, gradient_.seed());
  return gradient_.backward(exec);
}

void ModelDerivatives::vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy,
                           const ArraySamples& dx, const SampleSpan& range, Units units) {
  for_each_piece(range, network_->samples(), [&](const SampleSpan& piece) {
    const Tensor in = tensors_.inputs.row_range(0, piece.count);
    const Tensor d_outputs = tensors_.d_outputs.row_range(0, piece.count);
    staging_.read(exec, x, piece.first, inputs(units), in);
    staging_.read(exec, dy, piece.first, derivatives_of_outputs(units), d_outputs);
    staging_.write(exec, pull_back(exec, in, d_outputs, units), derivatives_of_inputs(units), dx, piece.to);
  });
  exec.fence("vjp");
}

template <class Take>
void ModelDerivatives::for_each_row(const Execution& exec, const Tensor& samples, Units units,
                                    const Take& take) {
  const std::int64_t outputs = chain().outputs();
  const std::int64_t of_sample = std::min(outputs, network_->samples());  // at a time
  for (std::int64_t output = 0; output < outputs; output += of_sample) {
    const std::int64_t rows = samples.rows() * std::min(of_sample, outputs - output);
    const Tensor repeated = tensors_.inputs.row_range(0, rows);
    const Tensor d_outputs = tensors_.d_outputs.row_range(0, rows);
    repeat_for_outputs(exec, samples, output, derivatives_of_outputs(units).scale, repeated, d_outputs);
    take(output, pull_back(exec, repeated, d_outputs, units));
  }
}

void ModelDerivatives::jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to,
                                const SampleSpan& range, Units units) {
  for_each_piece(range, tensors_.jacobian.rows(), [&](const SampleSpan& piece) {
    const Tensor in = tensors_.samples.row_range(0, piece.count);
    staging_.read(exec, x, piece.first, inputs(units), in);
    for_each_row(exec, in, units, [&](std::int64_t output, const ConstTensor& found) {
      const Tensor own(tensors_.jacobian.as<float>() + output * chain().inputs(), DType::fp32, found.rows(),
                       chain().inputs());
      write_samples(exec, found, derivatives_of_inputs(units), array_of_rows(own), 0);
    });
    staging_.write(exec, tensors_.jacobian.row_range(0, piece.count), {}, to, piece.to);
  });
  exec.fence("jacobian");
}

void ModelDerivatives::jvp(const Execution& exec, const ArraySamples& x, const ArraySamples& dx,
                           const ArraySamples& dy, const SampleSpan& range, Units units) {
  for_each_piece(range, tensors_.jacobian.rows(), [&](const SampleSpan& piece) {
    const Tensor in = tensors_.samples.row_range(0, piece.count);
    const Tensor d_in = tensors_.tangents.row_range(0, piece.count);
    const Tensor d_out = tensors_.products.row_range(0, piece.count);
    staging_.read(exec, x, piece.first, inputs(units), in);
    staging_.read(exec, dx, piece.first, {}, d_in);
    for_each_row(exec, in, units, [&](std::int64_t output, const ConstTensor& found) {
      multiply_rows(exec, found, derivatives_of_inputs(units).scale, d_in, output, d_out);
    });
    staging_.write(exec, d_out, {}, dy, piece.to);
  });
  exec.fence("jvp");
}

}  // namespace mylos
