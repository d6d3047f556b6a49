#include "mylos/model/layers/transformer/attention_block.hpp"

#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/attention/rotary.hpp"
#include "mylos/model/chain/key_value_cache.hpp"
#include "mylos/model/layers/transformer/residual_block.hpp"

namespace mylos {
namespace {

struct AttentionBranch {
  using Options = AttentionOptions;
  static constexpr std::string_view kind = "attention";
  static constexpr const char* forward_name = "attention forward";
  static constexpr const char* backward_name = "attention backward";

  explicit AttentionBranch(AttentionOptions all)
      : options(std::move(all)),
        linears(linears_of(options.branch, {{"qkv", options.branch.width, 3 * options.branch.width},
                                            {"output", options.branch.width, options.branch.width}})),
        dropout_stream(options.branch.seed, RandomPurpose::dropout, options.branch.name + "/probabilities") {}

  [[nodiscard]] const Linear& to_qkv() const { return linears[0]; }
  [[nodiscard]] const Linear& last() const { return linears[1]; }

  struct Inner {
    Inner() = default;
    Inner(const AttentionBranch& of, std::int64_t rows, Pieces& /*lean*/, Pieces& rest) {
      const BranchOptions& branch = of.options.branch;
      qkv = rest.take_tensor(branch.type, rows, 3 * branch.width);
      output = rest.take_tensor(branch.type, rows, branch.width);
      log_sums = rest.take<float>(rows * of.options.heads);
    }

    Tensor qkv;
    Tensor output;  // the attention's output
    float* log_sums = nullptr;
  };

  struct Gradients {
    Gradients(const AttentionBranch& of, std::int64_t rows, std::size_t /*variant*/, const Inner& /*inner*/,
              Pieces& pieces) {
      const auto [type, width] = std::pair{of.options.branch.type, of.options.branch.width};
      qkv = pieces.take_tensor(type, rows, 3 * width);
      branch = Tensor(qkv.data(), type, rows, width);
      output = normed = pieces.take_tensor(type, rows, width);
    }

    Tensor qkv;
    Tensor branch;
    Tensor output, normed;
  };

  /// Returns the shape for rows that may be less than a sample.
  [[nodiscard]] AttentionShape shape_of(std::int64_t rows) const {
    const BranchOptions& branch = options.branch;
    const std::int64_t samples = std::max<std::int64_t>(1, rows / branch.context);
    return {samples,     branch.context,    options.heads, branch.width / options.heads,
            branch.type, branch.dropout > 0};
  }
  [[nodiscard]] std::size_t forward_kernels(const Engines& engines, std::int64_t rows) const {
    return attention_forward_workspace(engines, shape_of(rows));
  }
  [[nodiscard]] std::size_t backward_kernels(const Engines& engines, std::int64_t rows) const {
    return attention_backward_workspace(engines, shape_of(rows));
  }

  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const {
    return products_of({to_qkv(), last()}, rows);
  }

  [[nodiscard]] BranchFlops flops(std::int64_t rows) const {
    const auto width = static_cast<double>(options.branch.width);
    const auto count = static_cast<double>(rows);
    // A token at position i has i + 1 scores. Forward computes two GEMMs with them, backward five, one of
    // which recomputes the scores.
    const double one_product = count * width * static_cast<double>(options.branch.context + 1);
    return {.forward = 8 * count * width * width + 2 * one_product,
            .backward = 16 * count * width * width + 5 * one_product,
            .repeated = one_product,
            .expand = 6 * count * width * width + 2 * one_product};
  }

  [[nodiscard]] Dropout dropout(const StepContext& context) const {
    // per sample: the kernel counts heads and rows
    return token_dropout(context, dropout_stream, options.branch.dropout, 1);
  }

  /// Computes the tensors from norm(x) to the attention's output.
  void expand(const StepContext& context, const ParameterTensors& weights, const ConstTensor& normed,
              const Inner& inner, std::byte* workspace) const {
    const std::int64_t rows = normed.rows();
    const KeyValueCache* cache = context.cache;
    const std::int64_t first_position = cache != nullptr ? cache->length() : 0;
    const std::int64_t length = cache != nullptr ? rows : options.branch.context;
    to_qkv().forward(context, weights, normed, inner.qkv, workspace);
    const AttentionShape of = shape_of(rows);
    if (options.rotary) {
      rotary_forward(context.exec, inner.qkv, length, of.heads, of.head_width, first_position);
    }
    if (cache != nullptr) {
      attention_append(context.exec, of, inner.qkv, first_position, cache->keys(options.layer),
                       cache->values(options.layer), inner.output, cache->workspace());
    } else {
      attention_forward(context.exec, context.engines, of, inner.qkv, inner.output, inner.log_sums,
                        dropout(context), workspace);
    }
  }

  void activate(const StepContext& /*context*/, const Inner& /*inner*/) const {}

  [[nodiscard]] Tensor gelu_input(const GemmEngine& /*gemm*/, const Inner& /*inner*/) const { return {}; }

  void backward(const StepContext& context, const ParameterTensors& weights, const BlockGradients& gradients,
                const ConstTensor& normed, const Inner& inner, const Gradients& own,
                std::byte* workspace) const {
    const AttentionShape of = shape_of(normed.rows());
    attention_backward(context.exec, context.engines, of, inner.qkv, inner.output, inner.log_sums, own.output,
                       own.qkv, dropout(context), workspace);
    if (options.rotary) rotary_backward(context.exec, own.qkv, of.length, of.heads, of.head_width, 0);
    residual_backward(context.exec, own.qkv, own.qkv,
                      to_qkv().bias_gradient(context.engines.gemm, gradients.weights, normed.rows()),
                      gradients.accumulate, {});
    to_qkv().weight_gradient(context, gradients.weights, gradients.accumulate, own.qkv, normed, workspace);
    to_qkv().input_gradient(context, weights, own.qkv, own.normed, workspace);
  }

  AttentionOptions options;
  std::vector<Linear> linears;
  RandomStream dropout_stream;
};

}  // namespace

std::unique_ptr<Block> make_attention_block(AttentionOptions options) {
  return std::make_unique<ResidualBlock<AttentionBranch>>(std::move(options));
}

}  // namespace mylos
