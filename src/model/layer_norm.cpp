#include "mylos/model/layer_norm.hpp"

#include "mylos/base/region.hpp"
#include "mylos/kernels/layernorm.hpp"
#include "mylos/model/cast.hpp"

namespace mylos {
namespace {

std::size_t row_vector_bytes(std::int64_t rows) {
  return aligned_bytes(static_cast<std::size_t>(rows) * sizeof(float));
}

struct Statistics {
  float* mean;
  float* inverse_sigma;
};

Statistics statistics_in(std::byte* saved, std::int64_t rows) {
  return {reinterpret_cast<float*>(saved), reinterpret_cast<float*>(saved + row_vector_bytes(rows))};
}

}  // namespace

std::vector<ParameterSpec> LayerNormBlock::parameters() const {
  return {{.name = "weight", .rows = 1, .columns = options_.width, .initial_value = 1},
          {.name = "bias", .rows = 1, .columns = options_.width}};
}

BlockCost LayerNormBlock::cost(const GemmEngine&, std::int64_t rows) const {
  const std::int64_t elements = rows * options_.width;
  const std::size_t cast = cast_bytes(elements, options_.input_type, options_.type);
  BlockCost cost;
  cost.output_bytes = aligned_bytes(static_cast<std::size_t>(elements) * size_of(options_.type));
  cost.forward_workspace = cast + 2 * row_vector_bytes(rows);  // statistics that nobody keeps
  cost.variants.push_back({"all", 2 * row_vector_bytes(rows),
                           2 * cast + aligned_bytes(layernorm_backward_workspace(rows, options_.width)), 0});
  cost.forward_flops = 8.0 * static_cast<double>(elements);
  cost.backward_flops = 14.0 * static_cast<double>(elements);
  return cost;
}

void LayerNormBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("layernorm forward");
  const Tensor input = cast(context.exec, memory.input, options_.type, memory.workspace);
  std::byte* kept = memory.saved != nullptr
                        ? memory.saved
                        : memory.workspace + cast_bytes(input.size(), options_.input_type, options_.type);
  const auto [mean, inverse_sigma] = statistics_in(kept, input.rows());
  layernorm_forward(context.exec, input, memory.weights[0], memory.weights[1], memory.output, mean,
                    inverse_sigma, options_.epsilon);
}

void LayerNormBlock::backward(const StepContext& context, const BlockMemory& memory,
                              const BlockGradients& gradients) const {
  const Region region("layernorm backward");
  const std::size_t cast_size = cast_bytes(memory.input.size(), options_.input_type, options_.type);
  const Tensor input = cast(context.exec, memory.input, options_.type, memory.workspace);
  const auto [mean, inverse_sigma] = statistics_in(memory.saved, input.rows());
  const bool casts = cast_size > 0;
  const Tensor dx = casts ? Tensor(memory.workspace + cast_size, options_.type, input.rows(), options_.width)
                          : gradients.input;
  layernorm_backward(context.exec, input, gradients.output, memory.weights[0], mean, inverse_sigma, dx,
                     gradients.weights[0], gradients.weights[1], gradients.accumulate,
                     memory.workspace + 2 * cast_size);
  if (casts) convert(context.exec, dx, gradients.input);
}

}  // namespace mylos
