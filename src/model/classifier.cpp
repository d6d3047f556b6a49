#include "mylos/model/classifier.hpp"

#include <algorithm>

#include "mylos/base/region.hpp"
#include "mylos/kernels/loss.hpp"
#include "mylos/model/cast.hpp"
#include "row_sums.hpp"

namespace mylos {
namespace {

constexpr std::int64_t least_chunk_rows = 256;  // fewer would make the products slow

GemmProblem logits_product(const ClassifierOptions& options, std::int64_t rows) {
  return linear_output(rows, options.width, options.classes, options.type);
}

GemmProblem weight_gradient_product(const ClassifierOptions& options, std::int64_t rows, bool accumulate) {
  GemmProblem problem =
      linear_weight_gradient(rows, options.width, options.classes, options.type, DType::fp32);
  problem.accumulate = accumulate;
  return problem;
}

GemmProblem input_gradient_product(const ClassifierOptions& options, std::int64_t rows) {
  return linear_input_gradient(rows, options.width, options.classes, options.type);
}

/// Where the parts of the workspace start.
struct Workspace {
  std::size_t logits = 0;
  std::size_t input = 0;  // a chunk in the head's type
  std::size_t input_gradient = 0;
  std::size_t gemm = 0;
};

/// For `rows` rows in chunks of at most `chunk`.
Workspace workspace_of(const ClassifierOptions& options, std::int64_t rows, std::int64_t chunk) {
  const std::size_t cast = cast_bytes(chunk * options.width, options.input_type, options.type);
  Workspace layout;
  layout.logits = row_sums_bytes(rows);
  layout.input = layout.logits +
                 aligned_bytes(static_cast<std::size_t>(chunk * options.classes) * size_of(options.type));
  layout.input_gradient = layout.input + cast;
  layout.gemm = layout.input_gradient + cast;
  return layout;
}

}  // namespace

std::vector<ParameterSpec> Classifier::parameters() const {
  if (options_.tied) return {};
  ParameterSpec weight{
      .name = "weight", .rows = options_.classes, .columns = options_.width, .is_matrix = true};
  weight.initial_std = options_.initial_std;
  return {weight};
}

std::int64_t Classifier::most_chunk_rows() const {
  const std::size_t row_bytes = static_cast<std::size_t>(options_.classes) * size_of(options_.type);
  return std::max(least_chunk_rows, static_cast<std::int64_t>(options_.chunk_bytes / row_bytes));
}

std::int64_t Classifier::chunk_rows(std::int64_t rows) const {
  const std::int64_t most = most_chunk_rows();
  const std::int64_t chunks = std::max<std::int64_t>(1, (rows + most - 1) / most);
  return (rows + chunks - 1) / chunks;
}

LossCost Classifier::cost(const GemmEngine& gemm, std::int64_t rows) const {
  const std::int64_t most = std::min(rows, most_chunk_rows());  // fewer rows may come in larger chunks
  std::size_t product = 0;
  const std::int64_t chunk = chunk_rows(rows);
  for (const std::int64_t count : {most, chunk, rows - (rows - 1) / chunk * chunk}) {
    for (const GemmProblem& problem :
         {logits_product(options_, count), weight_gradient_product(options_, count, false),
          weight_gradient_product(options_, count, true), input_gradient_product(options_, count)}) {
      product = std::max(product, aligned_bytes(gemm.workspace_bytes(problem)));
    }
  }
  return {workspace_of(options_, rows, most).gemm + product, 3 * flops_of(logits_product(options_, rows))};
}

std::vector<BlockProduct> Classifier::products(std::int64_t rows) const {
  const std::int64_t chunk = chunk_rows(rows);
  std::vector<BlockProduct> products;
  const auto add = [&](std::int64_t count, std::int64_t times) {
    for (BlockProduct& product :
         products_of_linear("", count, options_.width, options_.classes, options_.type, DType::fp32)) {
      product.times = times;
      products.push_back(std::move(product));
    }
  };
  add(chunk, rows / chunk);
  if (rows % chunk != 0) add(rows % chunk, 1);
  return products;
}

void Classifier::evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                          LossSums* sums) const {
  evaluate_and_seed(context, memory, truth, {}, sums);
}

void Classifier::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                   const LossGradients& gradients, LossSums* sums) const {
  const Region region("classifier");
  const std::int64_t rows = memory.input.rows();
  const std::int64_t chunk = chunk_rows(rows);
  const Workspace layout = workspace_of(options_, rows, chunk);
  const RowSums row_sums(memory.workspace, rows);
  const void* weight = memory.weights[0].data();
  std::byte* gemm_workspace = memory.workspace + layout.gemm;
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const std::int64_t count = std::min(chunk, rows - first);
    const Tensor input = cast(context.exec, memory.input.row_range(first, count), options_.type,
                              memory.workspace + layout.input);
    const Tensor logits(memory.workspace + layout.logits, options_.type, count, options_.classes);
    context.gemm.run(context.exec, logits_product(options_, count), {input.data(), weight, logits.data()},
                     gemm_workspace);
    const bool seeds = !gradients.input.empty();
    softmax_cross_entropy(context.exec, logits, truth.labels + first, seeds ? logits : Tensor(),
                          gradients.scale, gradients.inverse_count, row_sums.loss + first,
                          row_sums.correct + first, truth.classes);
    if (!seeds) continue;
    context.gemm.run(context.exec,
                     weight_gradient_product(options_, count, gradients.accumulate || first > 0),
                     {logits.data(), input.data(), gradients.weights[0].data()}, gemm_workspace);
    const Tensor d_input = gradients.input.row_range(first, count);
    const bool casts = d_input.type() != options_.type;
    const Tensor dx =
        casts ? Tensor(memory.workspace + layout.input_gradient, options_.type, count, options_.width)
              : d_input;
    context.gemm.run(context.exec, input_gradient_product(options_, count),
                     {logits.data(), weight, dx.data()}, gemm_workspace);
    if (casts) convert(context.exec, dx, d_input);
  }
  row_sums.add_to(context.exec, LossType::cross_entropy, sums);
}

Tensor Classifier::outputs_of(const StepContext& context, const LossMemory& memory) const {
  const std::int64_t rows = memory.input.rows();
  if (rows > most_chunk_rows()) {
    fail_run("logits of {} rows: at most {} at a time", rows, most_chunk_rows());
  }
  const Workspace layout = workspace_of(options_, rows, rows);
  const Tensor input = cast(context.exec, memory.input, options_.type, memory.workspace + layout.input);
  const Tensor logits(memory.workspace + layout.logits, options_.type, rows, options_.classes);
  context.gemm.run(context.exec, logits_product(options_, rows),
                   {input.data(), memory.weights[0].data(), logits.data()}, memory.workspace + layout.gemm);
  return logits;
}

}  // namespace mylos
