#include "mylos/model/layers/transformer/embedding.hpp"

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/region.hpp"
#include "mylos/kernels/pointwise/embedding.hpp"
#include "mylos/model/block/token_dropout.hpp"
#include "mylos/model/chain/key_value_cache.hpp"

namespace mylos {

Embedding::Embedding(EmbeddingOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "embedding",
                 .inputs = 1,
                 .outputs = options_.width,
                 .input_type = DType::int32,
                 .output_type = options_.type,
                 .compute_type = options_.type},
      dropout_stream_(options_.seed, RandomPurpose::dropout, options_.name) {}

std::vector<ParameterSpec> Embedding::parameters() const {
  ParameterSpec token{.name = "token",
                      .rows = options_.vocabulary,
                      .columns = options_.width,
                      .is_matrix = true,
                      .type = options_.type,
                      .gradient_type = options_.gradient_type,
                      .decay_factor = 1,
                      .initial_std = options_.initial_std};
  if (!options_.positions) return {token};
  ParameterSpec position = token;
  position.name = "position";
  position.rows = options_.context;
  return {token, position};
}

BlockCost Embedding::cost(const Engines&, std::int64_t rows) const {
  const std::int64_t elements = rows * options_.width;
  BlockCost cost;
  cost.output_bytes = output_bytes(signature_, rows);
  cost.forward_flops = static_cast<double>(elements);
  cost.backward_flops = static_cast<double>(options_.positions ? 2 * elements : elements);
  cost.variants.push_back(
      {"all", 0, aligned_bytes(embedding_backward_workspace(rows, options_.vocabulary)), 0});
  return cost;
}

void Embedding::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("embedding forward");
  const bool continues = context.cache != nullptr;
  const std::int64_t length = continues ? memory.input.rows() : options_.context;
  Tensor positions = options_.positions ? memory.weights["position"] : Tensor();
  if (continues && options_.positions) positions = positions.row_range(context.cache->length(), length);
  embedding_forward(context.exec, memory.input.as<std::int32_t>(), length, memory.weights["token"], positions,
                    memory.output,
                    token_dropout(context, dropout_stream_, options_.dropout, options_.context));
}

void Embedding::backward(const StepContext& context, const BlockMemory& memory,
                         const BlockGradients& gradients) const {
  const Region region("embedding backward");
  embedding_backward(
      context.exec, memory.input.as<std::int32_t>(), options_.context, gradients.output,
      gradients.weights["token"], options_.positions ? gradients.weights["position"] : Tensor(),
      gradients.accumulate || options_.tied, gradients.accumulate,
      token_dropout(context, dropout_stream_, options_.dropout, options_.context), memory.workspace);
}

}  // namespace mylos
