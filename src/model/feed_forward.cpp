#include "mylos/model/feed_forward.hpp"

#include <algorithm>

#include "branch_variants.hpp"
#include "linear.hpp"
#include "mylos/base/region.hpp"
#include "mylos/kernels/activation.hpp"
#include "mylos/kernels/gated.hpp"
#include "mylos/kernels/residual.hpp"
#include "mylos/model/cast.hpp"
#include "mylos/model/kept_parts.hpp"
#include "token_dropout.hpp"

namespace mylos {
namespace {

enum Part : std::size_t { statistics, normed, z, u, a, parts };

bool is_gated(const FeedForwardOptions& options) {
  return options.type == FeedForwardType::swiglu;
}

/// Its parameters come in the order norm, up, down, gate.
Linear up_linear(const FeedForwardOptions& options) {
  const BranchOptions& branch = options.branch;
  return branch_linear(branch, "up", branch.width, options.hidden, branch.norm.parameter_count());
}
Linear down_linear(const FeedForwardOptions& options) {
  const BranchOptions& branch = options.branch;
  return branch_linear(branch, "down", options.hidden, branch.width,
                       up_linear(options).weight + (branch.bias ? 2 : 1));
}
Linear gate_linear(const FeedForwardOptions& options) {
  const BranchOptions& branch = options.branch;
  return branch_linear(branch, "gate", branch.width, options.hidden,
                       down_linear(options).weight + (branch.bias ? 2 : 1));
}
/// What z is made with.
Linear z_linear(const FeedForwardOptions& options) {
  return is_gated(options) ? gate_linear(options) : up_linear(options);
}

std::size_t matrix_bytes(const BranchOptions& branch, std::int64_t rows, std::int64_t columns) {
  return aligned_bytes(static_cast<std::size_t>(rows * columns) * size_of(branch.type));
}

KeptParts<parts> parts_of(const FeedForwardOptions& options, std::int64_t rows, std::size_t variant) {
  KeptParts<parts> result;
  result.bytes[statistics] = options.branch.norm.statistics_bytes(rows);
  result.bytes[normed] = matrix_bytes(options.branch, rows, options.branch.width);
  result.bytes[z] = result.bytes[a] = matrix_bytes(options.branch, rows, options.hidden);
  result.bytes[u] = is_gated(options) ? result.bytes[z] : 0;
  result.kept.fill(variant != keeps_input);
  if (variant == keeps_lean) result.kept[statistics] = result.kept[normed] = result.kept[a] = false;
  return result;
}

/// Bytes of workspace that the kernels and products of a direction need.
std::size_t forward_kernels(const FeedForwardOptions& options, const GemmEngine& gemm, std::int64_t rows) {
  return aligned_bytes(std::max(up_linear(options).forward_workspace(gemm, rows),
                                down_linear(options).forward_workspace(gemm, rows)));
}

std::size_t backward_kernels(const FeedForwardOptions& options, const GemmEngine& gemm, std::int64_t rows) {
  return aligned_bytes(std::max({up_linear(options).backward_workspace(gemm, rows),
                                 down_linear(options).backward_workspace(gemm, rows),
                                 options.branch.norm.backward_workspace(rows)}));
}

/// Where the parts of the backward workspace start.
struct FeedForwardBackward {
  std::size_t input_gradient = 0;  // dx before its cast to the input's type
  std::size_t parts = 0;           // computed again
  std::size_t d_a = 0;             // where a is kept; else it takes a's place
  std::size_t d_u = 0;             // where u is kept; else it takes u's place
  std::size_t d_normed = 0;        // before it is written: the branch's gradient
  std::size_t kernels = 0;
  std::size_t bytes = 0;
};

FeedForwardBackward backward_workspace(const FeedForwardOptions& options, const GemmEngine& gemm,
                                       std::int64_t rows, std::size_t variant) {
  const BranchOptions& branch = options.branch;
  const KeptParts<parts> kept = parts_of(options, rows, variant);
  FeedForwardBackward layout;
  layout.input_gradient = cast_bytes(rows * branch.width, branch.input_type, branch.type);
  layout.parts = 2 * layout.input_gradient;
  layout.d_a = layout.parts + kept.workspace_bytes();
  layout.d_u = layout.d_a + (kept.kept[a] ? kept.bytes[a] : 0);
  layout.d_normed = layout.d_u + (kept.kept[u] ? kept.bytes[u] : 0);
  layout.kernels = layout.d_normed + kept.bytes[normed];
  std::size_t kernels = backward_kernels(options, gemm, rows);
  if (variant == keeps_input) kernels = std::max(kernels, forward_kernels(options, gemm, rows));
  layout.bytes = layout.kernels + kernels;
  return layout;
}

/// The parts of one pass.
struct Tensors {
  std::byte* statistics;
  Tensor normed, z, u, a;

  Tensors(const FeedForwardOptions& options, const KeptParts<parts>& layout, std::int64_t rows,
          std::byte* saved, std::byte* workspace) {
    const BranchOptions& branch = options.branch;
    const auto at = [&](Part part) { return layout.place(part, saved, workspace); };
    statistics = at(Part::statistics);
    normed = Tensor(at(Part::normed), branch.type, rows, branch.width);
    z = Tensor(at(Part::z), branch.type, rows, options.hidden);
    u = Tensor(at(Part::u), branch.type, rows, options.hidden);
    a = Tensor(at(Part::a), branch.type, rows, options.hidden);
  }
};

/// From norm(x) to z (and u).
void expand(const StepContext& context, const FeedForwardOptions& options, const BlockMemory& memory,
            const Tensors& tensors, std::byte* workspace) {
  z_linear(options).forward(context, memory.weights, tensors.normed, tensors.z, workspace);
  if (!is_gated(options)) return;
  up_linear(options).forward(context, memory.weights, tensors.normed, tensors.u, workspace);
}

/// From z (and u) to a.
void activate(const StepContext& context, const FeedForwardOptions& options, const Tensors& tensors) {
  if (is_gated(options)) {
    gated_forward(context.exec, tensors.z, tensors.u, tensors.a);
  } else {
    activation_forward(context.exec, Activation::gelu_tanh, tensors.z, tensors.a, {});
  }
}

}  // namespace

FeedForward::FeedForward(FeedForwardOptions options)
    : options_(std::move(options)), dropout_stream_(options_.branch.seed, RandomPurpose::dropout, name()) {}

std::vector<ParameterSpec> FeedForward::parameters() const {
  const BranchOptions& branch = options_.branch;
  std::vector<ParameterSpec> specs = branch.norm.parameters("norm_");
  add_linear(specs, "up", options_.hidden, branch.width, branch.bias, branch.initial_std);
  add_linear(specs, "down", branch.width, options_.hidden, branch.bias, branch.residual_std);
  if (is_gated(options_)) {
    add_linear(specs, "gate", options_.hidden, branch.width, branch.bias, branch.initial_std);
  }
  return specs;
}

BlockCost FeedForward::cost(const GemmEngine& gemm, std::int64_t rows) const {
  constexpr double activation_flops = 10;  // of an element, forward or backward; the products are exact
  const BranchOptions& branch = options_.branch;
  const double elements = static_cast<double>(rows) * static_cast<double>(options_.hidden);
  const double product = 2 * elements * static_cast<double>(branch.width);
  const double expansion = is_gated(options_) ? 2 * product : product;
  const double norm = branch.norm.forward_flops(rows);
  BlockCost cost;
  cost.output_bytes = matrix_bytes(branch, rows, branch.width);
  cost.forward_workspace = cast_bytes(rows * branch.width, branch.input_type, branch.type) +
                           parts_of(options_, rows, keeps_input).workspace_bytes() +
                           forward_kernels(options_, gemm, rows);
  cost.forward_flops = norm + expansion + product + activation_flops * elements;
  cost.backward_flops =
      branch.norm.backward_flops(rows) + 2 * (expansion + product) + activation_flops * elements;
  const double lean = norm + activation_flops * elements;
  const double again[branch_variants] = {0, lean, lean + expansion};
  for (std::size_t variant = 0; variant < branch_variants; ++variant) {
    cost.variants.push_back({branch_variant_names[variant], parts_of(options_, rows, variant).saved_bytes(),
                             backward_workspace(options_, gemm, rows, variant).bytes, again[variant]});
  }
  return cost;
}

std::vector<BlockProduct> FeedForward::products(std::int64_t rows) const {
  if (!is_gated(options_)) return products_of({up_linear(options_), down_linear(options_)}, rows);
  return products_of({gate_linear(options_), up_linear(options_), down_linear(options_)}, rows);
}

void FeedForward::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("mlp forward");
  const BranchOptions& branch = options_.branch;
  const std::int64_t rows = memory.input.rows();
  const Tensor x = cast(context.exec, memory.input, branch.type, memory.workspace);
  std::byte* workspace = memory.workspace + cast_bytes(x.size(), branch.input_type, branch.type);
  const KeptParts<parts> layout = parts_of(options_, rows, kept_in(memory));
  const Tensors tensors(options_, layout, rows, memory.saved, workspace);
  std::byte* kernels = workspace + layout.workspace_bytes();

  branch.norm.forward(context.exec, x, memory.weights, tensors.normed, tensors.statistics);
  expand(context, options_, memory, tensors, kernels);
  activate(context, options_, tensors);
  down_linear(options_).forward(context, memory.weights, tensors.a, memory.output, kernels);
  residual_forward(context.exec, x, memory.output, memory.output,
                   token_dropout(context, dropout_stream_, branch.dropout, branch.context));
}

void FeedForward::backward(const StepContext& context, const BlockMemory& memory,
                           const BlockGradients& gradients) const {
  const Region region("mlp backward");
  const BranchOptions& branch = options_.branch;
  const std::int64_t rows = memory.input.rows();
  const KeptParts<parts> kept = parts_of(options_, rows, memory.variant);
  const FeedForwardBackward layout = backward_workspace(options_, context.gemm, rows, memory.variant);
  const Tensors tensors(options_, kept, rows, memory.saved, memory.workspace + layout.parts);
  std::byte* kernels = memory.workspace + layout.kernels;
  const Dropout dropout = token_dropout(context, dropout_stream_, branch.dropout, branch.context);
  const Linear down = down_linear(options_);
  const Linear up = up_linear(options_);
  const auto in_workspace = [&](std::size_t offset, std::int64_t columns) {
    return Tensor(memory.workspace + offset, branch.type, rows, columns);
  };

  const Tensor x = cast(context.exec, memory.input, branch.type, memory.workspace);
  if (memory.variant != keeps_all) {
    branch.norm.forward(context.exec, x, memory.weights, tensors.normed, tensors.statistics);
    if (memory.variant == keeps_input) expand(context, options_, memory, tensors, kernels);
    activate(context, options_, tensors);
  }

  const Tensor d_normed = in_workspace(layout.d_normed, branch.width);
  const Tensor d_branch = dropout.active() ? d_normed : gradients.output;
  residual_backward(context.exec, gradients.output, d_branch,
                    down.bias_gradient(context.gemm, gradients.weights, rows), gradients.accumulate, dropout);
  down.weight_gradient(context, gradients.weights, gradients.accumulate, d_branch, tensors.a, kernels);
  const Tensor d_a = kept.kept[a] ? in_workspace(layout.d_a, options_.hidden) : tensors.a;
  down.input_gradient(context, memory.weights, d_branch, d_a, kernels);

  const Tensor& d_z = d_a;
  if (is_gated(options_)) {
    const Linear gate = gate_linear(options_);
    const Tensor d_u = kept.kept[u] ? in_workspace(layout.d_u, options_.hidden) : tensors.u;
    gated_backward(context.exec, tensors.z, tensors.u, d_a, d_z, d_u,
                   gate.bias_gradient(context.gemm, gradients.weights, rows),
                   up.bias_gradient(context.gemm, gradients.weights, rows), gradients.accumulate);
    gate.weight_gradient(context, gradients.weights, gradients.accumulate, d_z, tensors.normed, kernels);
    up.weight_gradient(context, gradients.weights, gradients.accumulate, d_u, tensors.normed, kernels);
    gate.input_gradient(context, memory.weights, d_z, d_normed, kernels);
    up.input_gradient(context, memory.weights, d_u, d_normed, kernels, true);
  } else {
    activation_backward(context.exec, Activation::gelu_tanh, tensors.z, d_a, d_z,
                        up.bias_gradient(context.gemm, gradients.weights, rows), gradients.accumulate, {});
    up.weight_gradient(context, gradients.weights, gradients.accumulate, d_z, tensors.normed, kernels);
    up.input_gradient(context, memory.weights, d_z, d_normed, kernels);
  }

  const bool casts = branch.input_type != branch.type;
  const Tensor dx = casts ? in_workspace(layout.input_gradient, branch.width) : gradients.input;
  branch.norm.backward(context.exec, x, d_normed, memory.weights, tensors.statistics, dx, gradients.weights,
                       gradients.accumulate, kernels, gradients.output);
  if (casts) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
