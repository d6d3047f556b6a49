#include "mylos/model/layers/transformer/feed_forward.hpp"

#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/kernels/pointwise/gated.hpp"
#include "mylos/model/layers/transformer/residual_block.hpp"

namespace mylos {
namespace {

bool is_gated(const FeedForwardOptions& options) {
  return options.type == FeedForwardType::swiglu;
}

std::vector<Linear> linears_of(const FeedForwardOptions& options) {
  const std::int64_t width = options.branch.width;
  std::vector<LinearShape> shapes{{"up", width, options.hidden}, {"down", options.hidden, width}};
  if (is_gated(options)) shapes.push_back({"gate", width, options.hidden});
  return linears_of(options.branch, shapes);
}

struct FeedForwardBranch {
  using Options = FeedForwardOptions;
  static constexpr std::string_view kind = "mlp";
  static constexpr const char* forward_name = "mlp forward";
  static constexpr const char* backward_name = "mlp backward";

  explicit FeedForwardBranch(FeedForwardOptions all)
      : options(std::move(all)), linears(linears_of(options)) {}

  [[nodiscard]] const Linear& up() const { return linears[0]; }
  [[nodiscard]] const Linear& last() const { return linears[1]; }
  /// Returns the linear map that computes z: the gate, or up.
  [[nodiscard]] const Linear& to_z() const { return is_gated(options) ? linears[2] : up(); }

  struct Inner {
    Inner() = default;
    Inner(const FeedForwardBranch& of, std::int64_t rows, Pieces& lean, Pieces& rest) {
      const auto take = [&](Pieces& pieces) {
        return pieces.take_tensor(of.options.branch.type, rows, of.options.hidden);
      };
      z = take(rest);
      if (is_gated(of.options)) u = take(rest);
      output = take(lean);
    }

    Tensor z, u;
    Tensor output;  // a
  };

  /// The gradients by a and u overwrite a and u if these are not saved.
  struct Gradients {
    Gradients(const FeedForwardBranch& of, std::int64_t rows, std::size_t variant, const Inner& inner,
              Pieces& pieces) {
      const BranchOptions& branch_options = of.options.branch;
      const auto take = [&] { return pieces.take_tensor(branch_options.type, rows, of.options.hidden); };
      output = variant == saves_all ? take() : inner.output;
      if (is_gated(of.options)) u = variant != saves_input ? take() : inner.u;
      branch = normed = pieces.take_tensor(branch_options.type, rows, branch_options.width);
    }

    Tensor output;  // then by z
    Tensor u;
    Tensor branch, normed;
  };

  [[nodiscard]] std::size_t forward_kernels(const Engines& /*engines*/, std::int64_t /*rows*/) const {
    return 0;
  }
  [[nodiscard]] std::size_t backward_kernels(const Engines& /*engines*/, std::int64_t /*rows*/) const {
    return 0;
  }

  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const {
    if (!is_gated(options)) return products_of({up(), last()}, rows);
    return products_of({to_z(), up(), last()}, rows);
  }

  [[nodiscard]] BranchFlops flops(std::int64_t rows) const {
    constexpr double activation_flops = 10;  // per element, forward or backward; GEMMs are exact
    const double elements = static_cast<double>(rows) * static_cast<double>(options.hidden);
    const double product = 2 * elements * static_cast<double>(options.branch.width);
    const double expansion = is_gated(options) ? 2 * product : product;
    const double activation = activation_flops * elements;
    return {.forward = expansion + product + activation,
            .backward = 2 * (expansion + product) + activation,
            .expand = expansion,
            .activate = activation};
  }

  /// Computes norm(x) to z (and u).
  void expand(const StepContext& context, const ParameterTensors& weights, const ConstTensor& normed,
              const Inner& inner, std::byte* workspace) const {
    to_z().forward(context, weights, normed, inner.z, workspace);
    if (is_gated(options)) up().forward(context, weights, normed, inner.u, workspace);
  }

  /// Computes a from z (and u).
  void activate(const StepContext& context, const Inner& inner) const {
    if (is_gated(options)) {
      gated_forward(context.exec, inner.z, inner.u, inner.output);
    } else {
      activation_forward(context.exec, Activation::gelu_tanh, inner.z, inner.output, {});
    }
  }

  [[nodiscard]] Tensor gelu_input(const GemmEngine& gemm, const Inner& inner) const {
    return !is_gated(options) && last().passes_gelu(gemm, inner.z.rows()) ? inner.z : Tensor();
  }

  void backward(const StepContext& context, const ParameterTensors& weights, const BlockGradients& gradients,
                const ConstTensor& normed, const Inner& inner, const Gradients& own,
                std::byte* workspace) const {
    const Tensor& d_z = own.output;
    const auto bias_gradient = [&](const Linear& linear) {
      return linear.bias_gradient(context.engines.gemm, gradients.weights, normed.rows());
    };
    const auto weight_gradient = [&](const Linear& linear, const Tensor& dy) {
      linear.weight_gradient(context, gradients.weights, gradients.accumulate, dy, normed, workspace);
    };
    if (is_gated(options)) {
      gated_backward(context.exec, inner.z, inner.u, own.output, d_z, own.u, bias_gradient(to_z()),
                     bias_gradient(up()), gradients.accumulate);
    } else {
      const bool passed = !gelu_input(context.engines.gemm, inner).empty();
      activation_backward(context.exec, passed ? Activation::none : Activation::gelu_tanh, inner.z,
                          own.output, d_z, bias_gradient(to_z()), gradients.accumulate, {});
    }
    weight_gradient(to_z(), d_z);
    if (is_gated(options)) weight_gradient(up(), own.u);
    to_z().input_gradient(context, weights, d_z, own.normed, workspace);
    if (is_gated(options)) up().input_gradient(context, weights, own.u, own.normed, workspace, true);
  }

  FeedForwardOptions options;
  std::vector<Linear> linears;
};

}  // namespace

std::unique_ptr<Block> make_feed_forward_block(FeedForwardOptions options) {
  return std::make_unique<ResidualBlock<FeedForwardBranch>>(std::move(options));
}

}  // namespace mylos
