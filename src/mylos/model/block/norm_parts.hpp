// Common code of the normalisation blocks: a weight and a bias for each channel, and copies of inputs of
// another type.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/model/block/cast.hpp"
#include "mylos/model/block/norm.hpp"

namespace mylos {

/// Returns the block's signature. `columns`: of the normalised matrix. Options: name, input_type and type of
/// the block.
template <class Options>
[[nodiscard]] Signature norm_signature(const Options& options, std::string_view kind, std::int64_t columns) {
  return {.name = options.name,
          .kind = kind,
          .inputs = columns,
          .outputs = columns,
          .input_type = options.input_type,
          .output_type = options.type,
          .compute_type = options.type};
}

/// Returns the specs of the weight and bias of each channel.
template <class Options>
[[nodiscard]] std::vector<ParameterSpec> weight_and_bias(const Options& options, std::int64_t channels) {
  return Norm{.width = channels}.parameters("", options.type, options.gradient_type);
}

/// Takes memory for the input in the block's type; empty if the input has that type.
[[nodiscard]] inline Tensor take_input(Pieces& pieces, const Signature& signature, std::int64_t rows) {
  return take_copy(pieces, signature.input_type, signature.compute_type, rows, signature.inputs);
}

/// Returns the cost of a block that saves `saved` bytes, for `rows` rows of its matrix.
[[nodiscard]] inline BlockCost norm_cost(const Signature& signature, std::int64_t rows, std::size_t forward,
                                         std::size_t saved, std::size_t backward) {
  const Norm all{.width = signature.outputs};
  BlockCost cost;
  cost.output_bytes = output_bytes(signature, rows);
  cost.forward_workspace = forward;
  cost.forward_flops = all.forward_flops(rows);
  cost.backward_flops = all.backward_flops(rows);
  cost.variants.push_back({"all", saved, backward, 0});
  return cost;
}

/// The workspace of a backward pass.
struct NormBackward {
  /// `kernel_bytes`: workspace of the kernels.
  NormBackward(const Signature& signature, std::int64_t rows, std::size_t kernel_bytes, std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, signature, rows)),
        input_gradient(take_input(pieces, signature, rows)),
        kernels(pieces.take_bytes(kernel_bytes)) {}

  Pieces pieces;
  Tensor input;
  Tensor input_gradient;  // before the cast to the input's type
  std::byte* kernels;
};

}  // namespace mylos
