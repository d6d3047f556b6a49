// ModelDerivatives: derivatives of a model's outputs with respect to its inputs, by backward passes of the
// network in float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/inference/arrays/array_samples.hpp"
#include "mylos/inference/arrays/scaling_arrays.hpp"
#include "mylos/inference/compute_weights.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/library/derivative_arrays.hpp"
#include "mylos/inference/library/host_staging.hpp"
#include "mylos/inference/library/output_derivatives.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/input_gradient.hpp"

namespace mylos {

/// What workspaces and clones share. Nothing changes it after read().
class DerivativeNetwork {
 public:
  /// For pieces of at most `max_samples` samples. All weights are 0.
  DerivativeNetwork(const StoredNetwork& network, const Engines& engines, std::int64_t max_samples);
  /// As InferenceModel::read().
  void read(const CheckpointReader& reader, bool average);

  /// Returns what such an object allocates, and in `workspace` one ModelDerivatives.
  [[nodiscard]] static InferenceBytes memory(const StoredNetwork& network, const Engines& engines,
                                             std::int64_t max_samples);

  [[nodiscard]] const Chain& chain() const { return chain_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] const ComputeWeights& weights() const { return weights_; }
  [[nodiscard]] const BufferStore& statistics() const { return statistics_; }
  /// The inverse scales of inputs and targets, without shifts: of derivatives.
  [[nodiscard]] const ScalingArrays& inverse() const { return inverse_; }

 private:
  Chain chain_;
  std::int64_t samples_;  // of a piece
  ComputeWeights weights_;
  BufferStore statistics_;
  ScalingArrays inverse_;
};

class ModelDerivatives final : public OutputDerivatives {
 public:
  /// `scaling`: of the network's inputs. Both, and the engines, must outlive the object.
  ModelDerivatives(std::shared_ptr<const DerivativeNetwork> network, const ScalingArrays& scaling,
                   const Engines& engines);

  [[nodiscard]] const std::shared_ptr<const DerivativeNetwork>& network() const { return network_; }
  void vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy, const ArraySamples& dx,
           const SampleSpan& range, Units units) override;
  /// Requires has_jacobian(), whose rows it computes.
  void jvp(const Execution& exec, const ArraySamples& x, const ArraySamples& dx, const ArraySamples& dy,
           const SampleSpan& range, Units units) override;
  /// Requires has_jacobian().
  void jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to, const SampleSpan& range,
                Units units) override;

  /// Of a piece, in float.
  struct Tensors {
    Tensors(const Chain& chain, std::int64_t samples, void* memory);

    Pieces pieces;
    Tensor samples, inputs, d_outputs;
    Tensor jacobian, tangents, products;  // of fewer samples: each takes a row for each output
  };

 private:
  [[nodiscard]] const Chain& chain() const { return network_->chain(); }
  [[nodiscard]] ScalingTable inputs(Units units) const;
  [[nodiscard]] ScalingTable derivatives_of_inputs(Units units) const;
  [[nodiscard]] ScalingTable derivatives_of_outputs(Units units) const;
  /// Runs the network on `inputs` and back from `d_outputs`, which are scaled.
  [[nodiscard]] ConstTensor pull_back(const Execution& exec, const ConstTensor& inputs,
                                      const ConstTensor& d_outputs, Units units);
  /// Calls take(first output, rows [samples, outputs] of the Jacobian) for the rows of `samples`, in parts of
  /// the same outputs of each.
  template <class Take>
  void for_each_row(const Execution& exec, const Tensor& samples, Units units, const Take& take);

  std::shared_ptr<const DerivativeNetwork> network_;
  const ScalingArrays& scaling_;
  BufferStore buffers_;  // kernels write into some of them
  InputGradient gradient_;
  Arena memory_;
  Tensors tensors_;
  HostStaging staging_;
};

}  // namespace mylos
