#include "mylos/model/layers/attention/point_attention.hpp"

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/region.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/grid/by_points.hpp"

namespace mylos {

namespace {

/// Returns the points of a grid as tokens, of which the kernels only read.
Tensor tokens_of(const ConstTensor& matrix, std::int64_t points) {
  const ConstTensor tokens = by_points(matrix, points);
  return {const_cast<void*>(tokens.data()), tokens.type(), tokens.rows(), tokens.columns()};
}

}  // namespace

struct PointAttention::Forward {
  /// `saved`: null if the log sums are not saved.
  Forward(const Engines& engines, const AttentionShape& shape, std::byte* saved, std::byte* workspace)
      : pieces(workspace),
        log_sums(saved != nullptr ? reinterpret_cast<float*>(saved)
                                  : pieces.take<float>(shape.rows() * shape.heads)),
        kernels(pieces.take_bytes(attention_forward_workspace(engines, shape))) {}

  Pieces pieces;
  float* log_sums;
  std::byte* kernels;
};

PointAttention::PointAttention(PointAttentionOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "attention",
                 .inputs = options_.points * 3 * options_.heads * options_.head_width,
                 .outputs = options_.points * options_.heads * options_.head_width,
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

AttentionShape PointAttention::shape_of(std::int64_t rows) const {
  return {.samples = rows,
          .length = options_.points,
          .heads = options_.heads,
          .head_width = options_.head_width,
          .type = options_.type,
          .causal = false};
}

BlockCost PointAttention::cost(const Engines& engines, std::int64_t rows) const {
  const AttentionShape shape = shape_of(rows);
  // Forward computes two GEMMs with the scores, backward five, one of which recomputes the scores.
  const double one_product = 2 * static_cast<double>(shape.rows()) * static_cast<double>(shape.length) *
                             static_cast<double>(shape.width());
  BlockCost cost;
  cost.output_bytes = output_bytes(signature_, rows);
  cost.forward_workspace = Forward(engines, shape, nullptr, nullptr).pieces.bytes();
  cost.forward_flops = 2 * one_product;
  cost.backward_flops = 5 * one_product;
  cost.repeated_flops = one_product;
  const std::size_t log_sums = static_cast<std::size_t>(shape.rows() * shape.heads) * sizeof(float);
  cost.variants.push_back(
      {"all", aligned_bytes(log_sums), aligned_bytes(attention_backward_workspace(engines, shape)), 0});
  return cost;
}

void PointAttention::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("attention forward");
  const AttentionShape shape = shape_of(memory.input.rows());
  const Forward own(context.engines, shape, memory.saved, memory.workspace);
  attention_forward(context.exec, context.engines, shape, tokens_of(memory.input, options_.points),
                    by_points(memory.output, options_.points), own.log_sums, {}, own.kernels);
}

void PointAttention::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("attention backward");
  const std::int64_t points = options_.points;
  attention_backward(context.exec, context.engines, shape_of(memory.input.rows()),
                     tokens_of(memory.input, points), by_points(memory.output, points),
                     reinterpret_cast<const float*>(memory.saved), by_points(gradients.output, points),
                     by_points(gradients.input, points), {}, memory.workspace);
}

}  // namespace mylos
