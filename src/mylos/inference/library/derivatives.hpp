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
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/input_gradient.hpp"

namespace mylos {

/// The largest Jacobian of a sample, in numbers.
inline constexpr std::int64_t max_jacobian_numbers = std::int64_t{1} << 22;

/// Returns whether a sample's Jacobian is small enough to be computed.
[[nodiscard]] bool has_jacobian(const Chain& chain);

/// The network in float with gradients of its inputs, made by the options of a stored one.
[[nodiscard]] Chain derivative_chain(const StoredNetwork& network);

class ModelDerivatives {
 public:
  /// What such objects allocate; `count` of them share weights.
  [[nodiscard]] static InferenceBytes memory(const StoredNetwork& network, const Engines& engines,
                                             int count = 1);

  /// All weights are 0. `engines` must outlive the object.
  ModelDerivatives(const StoredNetwork& network, const Engines& engines);
  /// Shares the weights.
  ModelDerivatives(const ModelDerivatives& original, const StoredNetwork& network, const Engines& engines);
  /// As InferenceModel::read().
  void read(const CheckpointReader& reader, bool average) { model_->read(reader, average); }

  /// Computes dx = J^T dy for all samples of x, where J are the derivatives of outputs with respect to inputs
  /// at x, both in `units`.
  void vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy, const ArraySamples& dx,
           Units units);
  /// Computes J [outputs, inputs] of all samples of x. Requires has_jacobian().
  void jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to, Units units);

 private:
  /// Of a piece, in float.
  struct Tensors {
    Tensors(const Chain& chain, std::int64_t samples, void* memory);

    Pieces pieces;
    Tensor samples, inputs, d_outputs, staged, jacobian;
  };

  ModelDerivatives(std::unique_ptr<InferenceModel> model, const StoredNetwork& network,
                   const Engines& engines);
  [[nodiscard]] const Chain& chain() const { return model_->chain(); }
  [[nodiscard]] ScalingTable inputs(Units units) const;
  /// The inverse scales, without shifts: of derivatives.
  [[nodiscard]] ScalingTable derivatives_of_inputs(Units units) const;
  [[nodiscard]] ScalingTable derivatives_of_outputs(Units units) const;
  /// Runs the network on `inputs` and back from `d_outputs`, which are scaled.
  [[nodiscard]] ConstTensor pull_back(const Execution& exec, const ConstTensor& inputs,
                                      const ConstTensor& d_outputs, Units units);
  void read(const Execution& exec, const ArraySamples& from, std::int64_t first, const ScalingTable& scaling,
            const Tensor& rows);
  void write(const Execution& exec, const ConstTensor& rows, const ScalingTable& scaling,
             const ArraySamples& to, std::int64_t first);

  std::unique_ptr<InferenceModel> model_;  // in float
  InputGradient gradient_;
  ScalingArrays scaling_;
  ScalingArrays inverse_;
  Arena memory_;
  Tensors tensors_;
  Kokkos::View<float*, Kokkos::SharedHostPinnedSpace> staging_;  // empty in builds for hosts
};

}  // namespace mylos
