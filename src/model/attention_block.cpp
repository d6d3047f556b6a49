#include "mylos/model/attention_block.hpp"

#include <algorithm>

#include "branch_variants.hpp"
#include "linear.hpp"
#include "mylos/base/region.hpp"
#include "mylos/kernels/attention.hpp"
#include "mylos/kernels/residual.hpp"
#include "mylos/kernels/rotary.hpp"
#include "mylos/model/cast.hpp"
#include "mylos/model/kept_parts.hpp"
#include "mylos/model/key_value_cache.hpp"
#include "token_dropout.hpp"

namespace mylos {
namespace {

enum Part : std::size_t { statistics, normed, qkv, attended, log_sums, parts };

AttentionShape shape_of(const AttentionOptions& options, std::int64_t samples) {
  const BranchOptions& branch = options.branch;
  return {samples, branch.context, options.heads, branch.width / options.heads, branch.type};
}

Linear qkv_linear(const AttentionOptions& options) {
  const BranchOptions& branch = options.branch;
  return branch_linear(branch, "qkv", branch.width, 3 * branch.width, branch.norm.parameter_count());
}

Linear output_linear(const AttentionOptions& options) {
  const BranchOptions& branch = options.branch;
  return branch_linear(branch, "output", branch.width, branch.width,
                       branch.norm.parameter_count() + (branch.bias ? 2 : 1));
}

std::size_t matrix_bytes(const BranchOptions& branch, std::int64_t rows, std::int64_t columns) {
  return aligned_bytes(static_cast<std::size_t>(rows * columns) * size_of(branch.type));
}

KeptParts<parts> parts_of(const AttentionOptions& options, std::int64_t rows, std::size_t variant) {
  const BranchOptions& branch = options.branch;
  KeptParts<parts> result;
  result.bytes[statistics] = branch.norm.statistics_bytes(rows);
  result.bytes[normed] = result.bytes[attended] = matrix_bytes(branch, rows, branch.width);
  result.bytes[qkv] = matrix_bytes(branch, rows, 3 * branch.width);
  result.bytes[log_sums] = aligned_bytes(static_cast<std::size_t>(rows * options.heads) * sizeof(float));
  result.kept.fill(variant != keeps_input);
  if (variant == keeps_lean) result.kept[statistics] = result.kept[normed] = false;
  return result;
}

/// Bytes of workspace that the kernels and products of a direction need.
std::size_t forward_kernels(const AttentionOptions& options, const GemmEngine& gemm, std::int64_t rows) {
  const AttentionShape shape = shape_of(options, rows / options.branch.context);
  return aligned_bytes(
      std::max({qkv_linear(options).forward_workspace(gemm, rows),
                output_linear(options).forward_workspace(gemm, rows), attention_forward_workspace(shape)}));
}

std::size_t backward_kernels(const AttentionOptions& options, const GemmEngine& gemm, std::int64_t rows) {
  const AttentionShape shape = shape_of(options, rows / options.branch.context);
  return aligned_bytes(
      std::max({qkv_linear(options).backward_workspace(gemm, rows),
                output_linear(options).backward_workspace(gemm, rows),
                options.branch.norm.backward_workspace(rows), attention_backward_workspace(shape)}));
}

/// Where the parts of the backward workspace start.
struct AttentionBackward {
  std::size_t input_gradient = 0;  // dx before its cast to the input's type
  std::size_t parts = 0;           // computed again
  std::size_t d_qkv = 0;           // before it is written: the branch's gradient
  std::size_t d_attended = 0;      // then the gradient of norm(x)
  std::size_t kernels = 0;
  std::size_t bytes = 0;
};

AttentionBackward backward_workspace(const AttentionOptions& options, const GemmEngine& gemm,
                                     std::int64_t rows, std::size_t variant) {
  const BranchOptions& branch = options.branch;
  AttentionBackward layout;
  layout.input_gradient = cast_bytes(rows * branch.width, branch.input_type, branch.type);
  layout.parts = 2 * layout.input_gradient;
  layout.d_qkv = layout.parts + parts_of(options, rows, variant).workspace_bytes();
  layout.d_attended = layout.d_qkv + matrix_bytes(branch, rows, 3 * branch.width);
  layout.kernels = layout.d_attended + matrix_bytes(branch, rows, branch.width);
  std::size_t kernels = backward_kernels(options, gemm, rows);
  if (variant == keeps_input) kernels = std::max(kernels, forward_kernels(options, gemm, rows));
  layout.bytes = layout.kernels + kernels;
  return layout;
}

/// The parts of one pass.
struct Tensors {
  std::byte* statistics;
  Tensor normed, qkv, attended;
  float* log_sums;

  Tensors(const AttentionOptions& options, const KeptParts<parts>& layout, std::int64_t rows,
          std::byte* saved, std::byte* workspace) {
    const BranchOptions& branch = options.branch;
    const auto at = [&](Part part) { return layout.place(part, saved, workspace); };
    statistics = at(Part::statistics);
    normed = Tensor(at(Part::normed), branch.type, rows, branch.width);
    qkv = Tensor(at(Part::qkv), branch.type, rows, 3 * branch.width);
    attended = Tensor(at(Part::attended), branch.type, rows, branch.width);
    log_sums = reinterpret_cast<float*>(at(Part::log_sums));
  }
};

/// From norm(x) to the attention's output.
void attend(const StepContext& context, const AttentionOptions& options, const BlockMemory& memory,
            const Tensors& tensors, const Dropout& dropout, std::byte* workspace) {
  const std::int64_t rows = tensors.qkv.rows();
  const KeyValueCache* cache = context.cache;
  const std::int64_t first_position = cache != nullptr ? cache->length() : 0;
  const std::int64_t length = cache != nullptr ? rows : options.branch.context;
  qkv_linear(options).forward(context, memory.weights, tensors.normed, tensors.qkv, workspace);
  const AttentionShape shape = shape_of(options, cache != nullptr ? 1 : rows / length);
  if (options.rotary) {
    rotary_forward(context.exec, tensors.qkv, length, shape.heads, shape.head_width, first_position);
  }
  if (cache != nullptr) {
    attention_append(context.exec, shape, tensors.qkv, first_position, cache->keys(options.layer),
                     cache->values(options.layer), tensors.attended, cache->workspace());
  } else {
    attention_forward(context.exec, shape, tensors.qkv, tensors.attended, tensors.log_sums, dropout,
                      workspace);
  }
}

Dropout probability_dropout(const StepContext& context, const RandomStream& stream, double probability) {
  return token_dropout(context, stream, probability, 1);  // by sample: the kernel counts heads and rows
}

}  // namespace

AttentionBlock::AttentionBlock(AttentionOptions options)
    : options_(std::move(options)),
      residual_stream_(options_.branch.seed, RandomPurpose::dropout, name()),
      probability_stream_(options_.branch.seed, RandomPurpose::dropout, name() + "/probabilities") {}

std::vector<ParameterSpec> AttentionBlock::parameters() const {
  const BranchOptions& branch = options_.branch;
  std::vector<ParameterSpec> specs = branch.norm.parameters("norm_");
  add_linear(specs, "qkv", 3 * branch.width, branch.width, branch.bias, branch.initial_std);
  add_linear(specs, "output", branch.width, branch.width, branch.bias, branch.residual_std);
  return specs;
}

BlockCost AttentionBlock::cost(const GemmEngine& gemm, std::int64_t rows) const {
  const BranchOptions& branch = options_.branch;
  const auto width = static_cast<double>(branch.width);
  const auto count = static_cast<double>(rows);
  // A token at position i has i + 1 scores; two products of them forward, five backward.
  const double one_product = count * width * static_cast<double>(branch.context + 1);
  const double norm = branch.norm.forward_flops(rows);
  BlockCost cost;
  cost.output_bytes = matrix_bytes(branch, rows, branch.width);
  cost.forward_workspace = cast_bytes(rows * branch.width, branch.input_type, branch.type) +
                           parts_of(options_, rows, keeps_input).workspace_bytes() +
                           forward_kernels(options_, gemm, rows);
  cost.forward_flops = norm + 8 * count * width * width + 2 * one_product;
  cost.backward_flops = branch.norm.backward_flops(rows) + 16 * count * width * width + 5 * one_product;
  const double again[branch_variants] = {0, norm, norm + 6 * count * width * width + 2 * one_product};
  for (std::size_t variant = 0; variant < branch_variants; ++variant) {
    cost.variants.push_back({branch_variant_names[variant], parts_of(options_, rows, variant).saved_bytes(),
                             backward_workspace(options_, gemm, rows, variant).bytes, again[variant]});
  }
  return cost;
}

std::vector<BlockProduct> AttentionBlock::products(std::int64_t rows) const {
  return products_of({qkv_linear(options_), output_linear(options_)}, rows);
}

void AttentionBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("attention forward");
  const BranchOptions& branch = options_.branch;
  const std::int64_t rows = memory.input.rows();
  const Tensor x = cast(context.exec, memory.input, branch.type, memory.workspace);
  std::byte* workspace = memory.workspace + cast_bytes(x.size(), branch.input_type, branch.type);
  const KeptParts<parts> layout = parts_of(options_, rows, kept_in(memory));
  const Tensors tensors(options_, layout, rows, memory.saved, workspace);
  std::byte* kernels = workspace + layout.workspace_bytes();

  branch.norm.forward(context.exec, x, memory.weights, tensors.normed, tensors.statistics);
  attend(context, options_, memory, tensors,
         probability_dropout(context, probability_stream_, branch.dropout), kernels);
  output_linear(options_).forward(context, memory.weights, tensors.attended, memory.output, kernels);
  residual_forward(context.exec, x, memory.output, memory.output,
                   token_dropout(context, residual_stream_, branch.dropout, branch.context));
}

void AttentionBlock::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  const Region region("attention backward");
  const BranchOptions& branch = options_.branch;
  const std::int64_t rows = memory.input.rows();
  const AttentionBackward layout = backward_workspace(options_, context.gemm, rows, memory.variant);
  const Tensors tensors(options_, parts_of(options_, rows, memory.variant), rows, memory.saved,
                        memory.workspace + layout.parts);
  std::byte* kernels = memory.workspace + layout.kernels;
  const Dropout probabilities = probability_dropout(context, probability_stream_, branch.dropout);
  const Dropout dropout = token_dropout(context, residual_stream_, branch.dropout, branch.context);
  const Linear to_qkv = qkv_linear(options_);
  const Linear to_output = output_linear(options_);
  const AttentionShape shape = shape_of(options_, rows / branch.context);

  const Tensor x = cast(context.exec, memory.input, branch.type, memory.workspace);
  if (memory.variant != keeps_all) {
    branch.norm.forward(context.exec, x, memory.weights, tensors.normed, tensors.statistics);
  }
  if (memory.variant == keeps_input) attend(context, options_, memory, tensors, probabilities, kernels);

  const Tensor d_qkv(memory.workspace + layout.d_qkv, branch.type, rows, 3 * branch.width);
  const Tensor d_branch =
      dropout.active() ? Tensor(d_qkv.data(), branch.type, rows, branch.width) : gradients.output;
  const Tensor d_attended(memory.workspace + layout.d_attended, branch.type, rows, branch.width);
  residual_backward(context.exec, gradients.output, d_branch,
                    to_output.bias_gradient(context.gemm, gradients.weights, rows), gradients.accumulate,
                    dropout);
  to_output.weight_gradient(context, gradients.weights, gradients.accumulate, d_branch, tensors.attended,
                            kernels);
  to_output.input_gradient(context, memory.weights, d_branch, d_attended, kernels);
  attention_backward(context.exec, shape, tensors.qkv, tensors.attended, tensors.log_sums, d_attended, d_qkv,
                     probabilities, kernels);
  if (options_.rotary) {
    rotary_backward(context.exec, d_qkv, branch.context, shape.heads, shape.head_width, 0);
  }
  residual_backward(context.exec, d_qkv, d_qkv, to_qkv.bias_gradient(context.gemm, gradients.weights, rows),
                    gradients.accumulate, {});
  to_qkv.weight_gradient(context, gradients.weights, gradients.accumulate, d_qkv, tensors.normed, kernels);
  const Tensor& d_normed = d_attended;
  to_qkv.input_gradient(context, memory.weights, d_qkv, d_normed, kernels);

  const bool casts = branch.input_type != branch.type;
  const Tensor dx = casts ? Tensor(memory.workspace + layout.input_gradient, branch.type, rows, branch.width)
                          : gradients.input;
  branch.norm.backward(context.exec, x, d_normed, memory.weights, tensors.statistics, dx, gradients.weights,
                       gradients.accumulate, kernels, gradients.output);
  if (casts) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
