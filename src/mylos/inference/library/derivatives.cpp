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

/// The host memory through which arrays of the host go to a device and back, in floats.
std::size_t staged_values(const Chain& chain, std::int64_t samples) {
  const std::int64_t of_piece = samples * std::max(chain.inputs(), chain.outputs());
  const std::int64_t of_jacobians = jacobians_of_piece(chain, samples) * chain.inputs() * chain.outputs();
  return memory_is_host ? 0 : static_cast<std::size_t>(std::max(of_piece, of_jacobians));
}

/// The channels of a point of the outputs.
std::int64_t channels_of(const Chain& chain) {
  const std::optional<OutputField> field = chain.head->field();
  return field ? field->grid.channels : chain.outputs();
}

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

/// Writes `seed`, like `computed` [rows, numbers of the last layer], from `d_outputs` [rows, outputs], all of
/// floats. Of distributions the outputs are the means, of points with `channels` of them; of classes the
/// probabilities p of a softmax, d = p (d_p - sum of p d_p); of probabilities p of a sigmoid, d = p (1 - p)
/// d_p. `are_logits`: the outputs of the last two are what the last layer computes.
void seed_from_outputs(const Execution& exec, Prediction prediction, bool are_logits, std::int64_t channels,
                       const ConstTensor& computed, const ConstTensor& d_outputs, const Tensor& seed) {
  if (prediction == Prediction::distributions) return seed_from_means(exec, channels, d_outputs, seed);
  if (prediction == Prediction::numbers || are_logits) return convert(exec, d_outputs, seed);
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

}  // namespace

bool has_jacobian(const Chain& chain) {
  return chain.inputs() <= max_jacobian_numbers / chain.outputs();
}

ModelDerivatives::Tensors::Tensors(const Chain& chain, std::int64_t count, void* memory) : pieces(memory) {
  samples = pieces.take_tensor(DType::fp32, count, chain.inputs());
  inputs = pieces.take_tensor(DType::fp32, count, chain.inputs());
  d_outputs = pieces.take_tensor(DType::fp32, count, chain.outputs());
  if (!memory_is_host)
    staged = pieces.take_tensor(DType::fp32, count, std::max(chain.inputs(), chain.outputs()));
  jacobian = pieces.take_tensor(DType::fp32, jacobians_of_piece(chain, count),
                                chain.inputs() * (has_jacobian(chain) ? chain.outputs() : 1));
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
                       staged_values(chain, samples) * sizeof(float)};
}

ModelDerivatives::ModelDerivatives(std::shared_ptr<const DerivativeNetwork> network,
                                   const ScalingArrays& scaling, const Engines& engines)
    : network_(std::move(network)),
      scaling_(scaling),
      buffers_(chain()),
      gradient_(chain(), network_->weights().of_stages(), buffers_, engines, network_->samples()),
      memory_("derivatives", Tensors(chain(), network_->samples(), nullptr).pieces.bytes()),
      tensors_(chain(), network_->samples(), memory_.data()) {
  copy_statistics(Execution(), network_->statistics(), buffers_);
  const std::size_t values = staged_values(chain(), network_->samples());
  if (values > 0) staging_ = decltype(staging_)("staged derivatives", values);  // an empty one would allocate
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

void ModelDerivatives::read(const Execution& exec, const ArraySamples& from, std::int64_t first,
                            const ScalingTable& scaling, const Tensor& rows) {
  if (memory_is_host || from.on_device) return read_samples(exec, from, first, scaling, rows);
  if constexpr (!memory_is_host) {
    exec.fence("staging");  // the last rows have left the host's memory
    const auto values = static_cast<std::size_t>(rows.size());
    read_on_host(from, first, rows.rows(), rows.columns(), staging_.data());
    const Tensor staged(tensors_.staged.data(), DType::fp32, rows.rows(), rows.columns());
    Kokkos::deep_copy(exec, staged.flat<float>(),
                      Kokkos::subview(staging_, std::pair(std::size_t{0}, values)));
    read_samples(exec, array_of_rows(staged), 0, scaling, rows);
  }
}

void ModelDerivatives::write(const Execution& exec, const ConstTensor& rows, const ScalingTable& scaling,
                             const ArraySamples& to, std::int64_t first) {
  if (memory_is_host || to.on_device) return write_samples(exec, rows, scaling, to, first);
  if constexpr (!memory_is_host) {
    ConstTensor floats = rows;
    if (scaling.scale != nullptr) {
      const Tensor staged(tensors_.staged.data(), DType::fp32, rows.rows(), rows.columns());
      write_samples(exec, rows, scaling, array_of_rows(staged), 0);
      floats = staged;
    }
    const auto values = static_cast<std::size_t>(rows.size());
    Kokkos::deep_copy(exec, Kokkos::subview(staging_, std::pair(std::size_t{0}, values)),
                      floats.flat<float>());
    exec.fence("derivatives");
    write_on_host(staging_.data(), rows.rows(), rows.columns(), to, first);
  }
}

ConstTensor ModelDerivatives::pull_back(const Execution& exec, const ConstTensor& inputs,
                                        const ConstTensor& d_outputs, Units units) {
  const ConstTensor computed = gradient_.forward(exec, inputs);
  seed_from_outputs(exec, chain().prediction(), units == Units::network, channels_of(chain()), computed,
                    d_outputs, gradient_.seed());
  return gradient_.backward(exec);
}

void ModelDerivatives::vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy,
                           const ArraySamples& dx, Units units) {
  for (std::int64_t first = 0; first < x.count; first += network_->samples()) {
    const std::int64_t count = std::min(network_->samples(), x.count - first);
    const Tensor in = tensors_.inputs.row_range(0, count);
    const Tensor d_outputs = tensors_.d_outputs.row_range(0, count);
    read(exec, x, first, inputs(units), in);
    read(exec, dy, first, derivatives_of_outputs(units), d_outputs);
    write(exec, pull_back(exec, in, d_outputs, units), derivatives_of_inputs(units), dx, first);
  }
  exec.fence("vjp");
}

void ModelDerivatives::jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to,
                                Units units) {
  const std::int64_t outputs = chain().outputs();
  const std::int64_t of_sample = std::min(outputs, network_->samples());  // rows at a time
  const std::int64_t at_a_time = tensors_.jacobian.rows();
  for (std::int64_t first = 0; first < x.count; first += at_a_time) {
    const std::int64_t count = std::min(at_a_time, x.count - first);
    const Tensor in = tensors_.samples.row_range(0, count);
    read(exec, x, first, inputs(units), in);
    for (std::int64_t output = 0; output < outputs; output += of_sample) {
      const std::int64_t rows = count * std::min(of_sample, outputs - output);
      const Tensor repeated = tensors_.inputs.row_range(0, rows);
      const Tensor d_outputs = tensors_.d_outputs.row_range(0, rows);
      repeat_for_outputs(exec, in, output, derivatives_of_outputs(units).scale, repeated, d_outputs);
      const ConstTensor found = pull_back(exec, repeated, d_outputs, units);
      const Tensor own(tensors_.jacobian.as<float>() + output * chain().inputs(), DType::fp32, rows,
                       chain().inputs());
      write_samples(exec, found, derivatives_of_inputs(units), array_of_rows(own), 0);
    }
    write(exec, tensors_.jacobian.row_range(0, count), {}, to, first);
  }
  exec.fence("jacobian");
}

}  // namespace mylos
