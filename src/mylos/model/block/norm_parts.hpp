// What the blocks of normalisations have in common: a weight and a bias of each channel, and copies where the
// input is of another type.
#pragma once

#include "mylos/base/device/pieces.hpp"
#include "mylos/model/block/cast.hpp"
#include "mylos/model/block/norm.hpp"

namespace mylos {

/// `columns`: of the matrix that is normalised. Options: name, input_type and type are the block's.
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

/// Of each channel.
template <class Options>
[[nodiscard]] std::vector<ParameterSpec> weight_and_bias(const Options& options, std::int64_t channels) {
  return Norm{.width = channels}.parameters("", options.type, options.gradient_type);
}

/// Room for the input of so many rows in the block's own type; empty where it is of that type.
[[nodiscard]] inline Tensor take_input(Pieces& pieces, const Signature& signature, std::int64_t rows) {
  return take_copy(pieces, signature.input_type, signature.compute_type, rows, signature.inputs);
}

/// A row for each point.
[[nodiscard]] inline Tensor by_points(const Tensor& matrix, std::int64_t points, std::int64_t channels) {
  return {matrix.data(), matrix.type(), matrix.rows() * points, channels};
}

/// What keeps `saved` bytes; of `rows` rows of the block's matrix.
[[nodiscard]] inline BlockCost norm_cost(const Signature& signature, std::int64_t rows, std::size_t forward,
                                         std::size_t saved, std::size_t backward) {
  const Norm all{.width = signature.outputs};
  BlockCost cost;
  cost.output_bytes =
      aligned_bytes(static_cast<std::size_t>(rows * signature.outputs) * size_of(signature.output_type));
  cost.forward_workspace = forward;
  cost.forward_flops = all.forward_flops(rows);
  cost.backward_flops = all.backward_flops(rows);
  cost.variants.push_back({"all", saved, backward, 0});
  return cost;
}

/// The workspace of a backward pass.
struct NormBackward {
  /// `kernel_bytes`: that its kernels take.
  NormBackward(const Signature& signature, std::int64_t rows, std::size_t kernel_bytes, std::byte* workspace)
      : pieces(workspace),
        input(take_input(pieces, signature, rows)),
        input_gradient(take_input(pieces, signature, rows)),
        kernels(pieces.take_bytes(kernel_bytes)) {}

  Pieces pieces;
  Tensor input;
  Tensor input_gradient;  // before its cast to the input's type
  std::byte* kernels;
};

}  // namespace mylos
