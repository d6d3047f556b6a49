// ResidualBlock: y = x + dropout(last(inner(norm(x)))), the common structure of a transformer layer's two
// blocks.
//
// A Branch defines the computation between norm(x) and y by these members:
//   options         its options; options.branch is a BranchOptions
//   linears         in the order of their parameters, after the norm's
//   last()          the linear map whose product is added to x
//   Inner           tensors from norm(x) on, placed in `lean` and `rest`; last() reads its `output`
//   Gradients       by last()'s result (`branch`), Inner's output (`output`) and norm(x) (`normed`), written
//                   in this order: they may share memory
//   expand()        computes the tensors of Inner that lie in `rest`
//   activate()      computes the tensors of Inner that lie in `lean`
//   gelu_input()    the input of the activation that gave Inner's output, if last() can give its gradient
//   backward()      from gradients.output (by gelu_input(), if there is one) to gradients.normed, and the
//                   gradients of all weights but last()'s
//   *_kernels()     workspace bytes of its kernels, without the GEMMs of its linears
//   flops(), products()
//
// Variant "all" saves all tensors between x and y, "lean" recomputes norm(x) and `lean`, "input" also `rest`.
#pragma once

#include <algorithm>
#include <memory>

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/pointwise/residual.hpp"
#include "mylos/model/block/block_product.hpp"
#include "mylos/model/block/cast.hpp"
#include "mylos/model/block/linear.hpp"
#include "mylos/model/block/token_dropout.hpp"

namespace mylos {

enum BranchVariant : std::size_t { saves_all, saves_lean, saves_input, branch_variants };

inline constexpr const char* branch_variant_names[branch_variants] = {"all", "lean", "input"};

/// FLOPs of a branch without its norm.
struct BranchFlops {
  double forward = 0;
  double backward = 0;
  double repeated = 0;  // the part of backward that recomputes forward's results in every variant
  double expand = 0;
  double activate = 0;
};

template <class Branch>
class ResidualBlock final : public Block {
 public:
  explicit ResidualBlock(typename Branch::Options options)
      : branch_(std::move(options)),
        signature_{.name = this->options().name,
                   .kind = Branch::kind,
                   .inputs = this->options().width,
                   .outputs = this->options().width,
                   .input_type = this->options().input_type,
                   .output_type = this->options().type,
                   .compute_type = this->options().type},
        dropout_stream_(this->options().seed, RandomPurpose::dropout, this->options().name) {}

  [[nodiscard]] const Signature& signature() const override { return signature_; }

  [[nodiscard]] std::vector<ParameterSpec> parameters() const override {
    std::vector<ParameterSpec> specs =
        options().norm.parameters("norm", options().type, options().gradient_type);
    for (const Linear& linear : branch_.linears) {
      const bool is_last = &linear == &branch_.last();
      add_linear(specs, linear, is_last ? options().residual_std : options().initial_std);
    }
    return specs;
  }

  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const override {
    return branch_.products(rows);
  }

  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override {
    const BranchFlops flops = branch_.flops(rows);
    const double norm = options().norm.forward_flops(rows);
    const double lean = norm + flops.activate;
    const double recompute[branch_variants] = {0, lean, lean + flops.expand};
    BlockCost cost;
    cost.output_bytes = output_bytes(signature_, rows);
    cost.forward_workspace = Forward(branch_, engines, rows, saves_input, nullptr, nullptr).pieces.bytes();
    cost.forward_flops = norm + flops.forward;
    cost.backward_flops = options().norm.backward_flops(rows) + flops.backward;
    cost.repeated_flops = flops.repeated;
    for (std::size_t variant = 0; variant < branch_variants; ++variant) {
      const Backward backward(branch_, engines, rows, variant, nullptr, nullptr);
      cost.variants.push_back({branch_variant_names[variant], backward.activations.saved_bytes,
                               backward.pieces.bytes(), recompute[variant]});
    }
    return cost;
  }

  [[nodiscard]] std::optional<InputNorm> input_norm(const StepContext& context,
                                                    const BlockMemory& memory) const override {
    const Forward own = forward_pieces(context, memory);
    if (!own.input.empty()) return std::nullopt;
    return InputNorm{&options().norm, memory.weights.of("norm"), own.activations.normed,
                     own.activations.statistics};
  }
  [[nodiscard]] bool computes_norm() const override { return true; }

  void forward(const StepContext& context, const BlockMemory& memory) const override {
    const Region region(Branch::forward_name);
    const Forward own = forward_pieces(context, memory);
    const Activations& activations = own.activations;
    const ConstTensor x = cast(context.exec, memory.input, own.input);
    if (!memory.has_norm) {
      options().norm.forward(context.exec, x, memory.weights.of("norm"), activations.normed,
                             activations.statistics);
    }
    branch_.expand(context, memory.weights, activations.normed, activations.inner, own.kernels);
    branch_.activate(context, activations.inner);
    branch_.last().forward(context, memory.weights, activations.inner.output, memory.output, own.kernels);
    const ResidualSum sum{x, memory.output, memory.output, dropout(context)};
    if (const InputNorm* const next = memory.next_norm; next != nullptr) {
      next->norm->forward_of_sum(context.exec, sum, next->weights, next->normed, next->statistics);
    } else {
      residual_forward(context.exec, sum.past, sum.branch, sum.x, sum.dropout);
    }
  }

  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override {
    const Region region(Branch::backward_name);
    const std::int64_t rows = memory.input.rows();
    const Backward own(branch_, context.engines, rows, memory.variant, memory.saved, memory.workspace);
    const Activations& activations = own.activations;
    const ConstTensor x = cast(context.exec, memory.input, own.input);
    if (memory.variant != saves_all) {
      options().norm.forward(context.exec, x, memory.weights.of("norm"), activations.normed,
                             activations.statistics);
      if (memory.variant == saves_input)
        branch_.expand(context, memory.weights, activations.normed, activations.inner, own.kernels);
      branch_.activate(context, activations.inner);
    }

    const Linear& last = branch_.last();
    const Dropout drops = dropout(context);
    const Tensor d_branch = drops.active() ? own.gradients.branch : gradients.output;
    residual_backward(context.exec, gradients.output, d_branch,
                      last.bias_gradient(context.engines.gemm, gradients.weights, rows), gradients.accumulate,
                      drops);
    last.weight_gradient(context, gradients.weights, gradients.accumulate, d_branch, activations.inner.output,
                         own.kernels);
    if (const Tensor z = branch_.gelu_input(context.engines.gemm, activations.inner); !z.empty()) {
      last.gelu_input_gradient(context, memory.weights, d_branch, z, own.gradients.output, own.kernels);
    } else {
      last.input_gradient(context, memory.weights, d_branch, own.gradients.output, own.kernels);
    }
    branch_.backward(context, memory.weights, gradients, activations.normed, activations.inner, own.gradients,
                     own.kernels);

    const bool casts = !own.input_gradient.empty();
    const Tensor dx = casts ? own.input_gradient : gradients.input;
    options().norm.backward(context.exec, x, own.gradients.normed, memory.weights.of("norm"),
                            activations.statistics, dx, gradients.weights.of("norm"), gradients.accumulate,
                            own.kernels, gradients.output);
    if (casts) convert(context.exec, dx, gradients.input);
  }

 private:
  /// The tensors between x and y, saved or not.
  struct Activations {
    Activations(const Branch& branch, std::int64_t rows, std::size_t variant, std::byte* saved,
                Pieces& workspace) {
      const BranchOptions& options = branch.options.branch;
      Pieces pieces(saved);
      Pieces& lean = variant == saves_all ? pieces : workspace;
      Pieces& rest = variant == saves_input ? workspace : pieces;
      statistics = lean.take_bytes(options.norm.statistics_bytes(rows));
      normed = lean.take_tensor(options.type, rows, options.width);
      inner = typename Branch::Inner(branch, rows, lean, rest);
      saved_bytes = pieces.bytes();
    }

    std::byte* statistics;
    Tensor normed;
    typename Branch::Inner inner;
    std::size_t saved_bytes;
  };

  static std::size_t forward_bytes(const Branch& branch, const Engines& engines, std::int64_t rows) {
    std::size_t bytes = branch.forward_kernels(engines, rows);
    for (const Linear& linear : branch.linears)
      bytes = std::max(bytes, linear.forward_workspace(engines.gemm, rows));
    return bytes;
  }
  static std::size_t backward_bytes(const Branch& branch, const Engines& engines, std::int64_t rows) {
    std::size_t bytes =
        std::max(branch.backward_kernels(engines, rows), branch.options.branch.norm.backward_workspace(rows));
    for (const Linear& linear : branch.linears)
      bytes = std::max(bytes, linear.backward_workspace(engines.gemm, rows));
    return bytes;
  }
  static Tensor take_input(Pieces& pieces, const BranchOptions& options, std::int64_t rows) {
    return take_copy(pieces, options.input_type, options.type, rows, options.width);
  }

  struct Forward {
    Forward(const Branch& branch, const Engines& engines, std::int64_t rows, std::size_t variant,
            std::byte* saved, std::byte* workspace)
        : pieces(workspace),
          input(take_input(pieces, branch.options.branch, rows)),
          activations(branch, rows, variant, saved, pieces),
          kernels(pieces.take_bytes(forward_bytes(branch, engines, rows))) {}

    Pieces pieces;
    Tensor input;
    Activations activations;
    std::byte* kernels;
  };

  [[nodiscard]] Forward forward_pieces(const StepContext& context, const BlockMemory& memory) const {
    const std::size_t variant = memory.saved == nullptr ? std::size_t{saves_input} : memory.variant;
    return Forward(branch_, context.engines, memory.input.rows(), variant, memory.saved, memory.workspace);
  }

  struct Backward {
    Backward(const Branch& branch, const Engines& engines, std::int64_t rows, std::size_t variant,
             std::byte* saved, std::byte* workspace)
        : pieces(workspace),
          input(take_input(pieces, branch.options.branch, rows)),
          input_gradient(take_input(pieces, branch.options.branch, rows)),
          activations(branch, rows, variant, saved, pieces),
          gradients(branch, rows, variant, activations.inner, pieces) {
      const std::size_t recompute = variant == saves_input ? forward_bytes(branch, engines, rows) : 0;
      kernels = pieces.take_bytes(std::max(recompute, backward_bytes(branch, engines, rows)));
    }

    Pieces pieces;
    Tensor input;
    Tensor input_gradient;  // before the cast to the input's type
    Activations activations;
    typename Branch::Gradients gradients;
    std::byte* kernels;
  };

  [[nodiscard]] const BranchOptions& options() const { return branch_.options.branch; }
  [[nodiscard]] Dropout dropout(const StepContext& context) const {
    return token_dropout(context, dropout_stream_, options().dropout, options().context);
  }

  Branch branch_;
  Signature signature_;
  RandomStream dropout_stream_;
};

}  // namespace mylos
