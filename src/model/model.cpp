#include "mylos/model/model.hpp"

#include "mylos/base/region.hpp"
#include "mylos/kernels/loss.hpp"
#include "mylos/kernels/reduce.hpp"

namespace mylos {
namespace {

void observe(const Observer* observer, std::size_t block, const char* tensor, const Tensor& value) {
  if (observer != nullptr && !value.empty()) (*observer)({block, tensor, value});
}

void observe_parameters(const Observer* observer, const Block& block, std::size_t index,
                        std::span<const Tensor> tensors, const char* suffix) {
  if (observer == nullptr) return;
  const auto specs = block.parameters();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    observe(observer, index, (specs[i].name + suffix).c_str(), tensors[i]);
  }
}

}  // namespace

Model::Model(Chain chain, GemmEngine& gemm, std::int64_t rows, std::int64_t bucket_bytes, int world)
    : chain_(std::move(chain)),
      parameters_(make_parameter_layout(chain_, bucket_bytes, world)),
      activations_(make_activation_layout(chain_, gemm, rows)),
      arena_("activations", activations_.bytes) {}

Tensor Model::output_of(std::size_t block) const {
  return arena_.tensor(activations_.output[block], chain_.blocks[block]->output_type(), input_.rows(),
                       chain_.blocks[block]->outputs());
}

Tensor Model::output_gradient_of(std::size_t block) const {
  return arena_.tensor(activations_.output_gradient[block], chain_.blocks[block]->output_type(),
                       input_.rows(), chain_.blocks[block]->outputs());
}

Tensor Model::output() const {
  return output_of(chain_.blocks.size() - 1);
}

BlockMemory Model::memory_of(std::size_t block, std::size_t workspace) const {
  return {.weights = parameters_.weights(block),
          .input = block == 0 ? input_ : output_of(block - 1),
          .output = output_of(block),
          .saved = arena_.data() + activations_.saved[block],
          .workspace = arena_.data() + workspace};
}

void Model::forward(const StepContext& context, const Tensor& input, const Observer* observer) {
  const Region region("forward");
  if (input.rows() > activations_.rows || input.columns() != chain_.inputs()) {
    fail_run("forward of [{}, {}] inputs: the model was planned for at most {} rows of {} features",
             input.rows(), input.columns(), activations_.rows, chain_.inputs());
  }
  input_ = input;
  observe(observer, 0, "input", input);
  for (std::size_t i = 0; i < chain_.blocks.size(); ++i) {
    const Block& block = *chain_.blocks[i];
    observe_parameters(observer, block, i, parameters_.weights(i), "");
    block.forward(context, memory_of(i, activations_.forward_workspace[i]));
    observe(observer, i, "output", output_of(i));
  }
}

void Model::evaluate_loss(const StepContext& context, const Truth& truth, const Tensor& seed,
                          const float* scale, float inverse_count, LossSums* sums) {
  const Region region("loss");
  auto* row_loss = reinterpret_cast<float*>(arena_.data() + activations_.row_loss);
  if (chain_.loss == LossType::cross_entropy) {
    auto* row_correct = reinterpret_cast<std::int32_t*>(arena_.data() + activations_.row_correct);
    softmax_cross_entropy(context.exec, output(), truth.labels, seed, scale, inverse_count, row_loss,
                          row_correct);
    sum_rows(context.exec, row_correct, input_.rows(), &sums->correct);
  } else {
    mean_squared_error(context.exec, output(), truth.targets, seed, scale, inverse_count, row_loss);
  }
  sum_rows(context.exec, row_loss, input_.rows(), &sums->loss);
}

void Model::loss(const StepContext& context, const Truth& truth, LossSums* sums) {
  evaluate_loss(context, truth, Tensor(), nullptr, 0, sums);
}

void Model::loss_and_seed(const StepContext& context, const Truth& truth, const float* scale,
                          float inverse_count, LossSums* sums, const Observer* observer) {
  const std::size_t last = chain_.blocks.size() - 1;
  evaluate_loss(context, truth, output_gradient_of(last), scale, inverse_count, sums);
  observe(observer, last, "output gradient", output_gradient_of(last));
}

void Model::backward(const StepContext& context, bool accumulate, const BlockDone& block_done,
                     const Observer* observer) {
  const Region region("backward");
  for (std::size_t i = chain_.blocks.size(); i-- > 0;) {
    const BlockGradients gradients{.weights = parameters_.gradients(i),
                                   .accumulate = accumulate,
                                   .output = output_gradient_of(i),
                                   .input = i == 0 ? Tensor() : output_gradient_of(i - 1)};
    chain_.blocks[i]->backward(context, memory_of(i, activations_.backward_workspace[i]), gradients);
    observe_parameters(observer, *chain_.blocks[i], i, gradients.weights, " gradient");
    if (i > 0) observe(observer, i - 1, "output gradient", gradients.input);
    block_done(i);
  }
}

}  // namespace mylos
