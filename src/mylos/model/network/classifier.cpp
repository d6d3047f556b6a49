#include "mylos/model/network/classifier.hpp"

#include <algorithm>

#include "mylos/base/device/region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "mylos/model/block/cast.hpp"
#include "mylos/model/block/linear.hpp"
#include "mylos/model/block/row_sums.hpp"

namespace mylos {
namespace {

constexpr std::int64_t min_chunk_rows = 256;  // smaller chunks would make the GEMMs slow

Linear logits_of(const ClassifierOptions& options) {
  return {.inputs = options.width, .outputs = options.classes, .bias = false, .type = options.type};
}

/// Returns the bytes of a chunk of at most `rows` rows.
std::size_t product_bytes(const ClassifierOptions& options, const Engines& engines, std::int64_t rows) {
  const Linear linear = logits_of(options);
  return std::max(linear.forward_workspace(engines.gemm, rows),
                  linear.backward_workspace(engines.gemm, rows));
}

struct ChunkMemory {
  /// Places the memory for `rows` rows in chunks of at most `chunk`.
  ChunkMemory(const ClassifierOptions& options, const Engines& engines, std::int64_t rows, std::int64_t chunk,
              std::byte* workspace)
      : pieces(workspace),
        row_sums(pieces, rows),
        logits(pieces.take_tensor(options.type, chunk, options.classes)),
        input(take_copy(pieces, options.input_type, options.type, chunk, options.width)),
        input_gradient(take_copy(pieces, options.input_type, options.type, chunk, options.width)),
        products(pieces.take_bytes(product_bytes(options, engines, chunk))) {}

  Pieces pieces;
  RowSums row_sums;
  Tensor logits;
  Tensor input;  // in the head's type
  Tensor input_gradient;
  std::byte* products;
};

/// Returns the first `count` rows of a chunk's matrix; empty if the chunk is empty.
Tensor rows_of(const Tensor& chunk, std::int64_t count) {
  return chunk.empty() ? Tensor() : chunk.row_range(0, count);
}

}  // namespace

Classifier::Classifier(ClassifierOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "classifier",
                 .inputs = options_.width,
                 .outputs = options_.classes,
                 .input_type = options_.input_type,
                 .output_type = options_.type,
                 .compute_type = options_.type} {}

std::vector<ParameterSpec> Classifier::parameters() const {
  if (options_.tied) return {};
  return {{.name = "weight",
           .rows = options_.classes,
           .columns = options_.width,
           .is_matrix = true,
           .type = options_.type,
           .gradient_type = DType::fp32,
           .decay_factor = 1,
           .initial_std = options_.initial_std}};
}

std::int64_t Classifier::max_chunk_rows() const {
  const std::size_t row_bytes = static_cast<std::size_t>(options_.classes) * size_of(options_.type);
  return std::max(min_chunk_rows, static_cast<std::int64_t>(options_.chunk_bytes / row_bytes));
}

std::int64_t Classifier::chunk_rows(std::int64_t rows) const {
  const std::int64_t most = max_chunk_rows();
  const std::int64_t chunks = std::max<std::int64_t>(1, (rows + most - 1) / most);
  return (rows + chunks - 1) / chunks;
}

LossCost Classifier::cost(const Engines& engines, std::int64_t rows) const {
  const std::int64_t most = std::min(rows, max_chunk_rows());  // fewer rows may use larger chunks
  return {ChunkMemory(options_, engines, rows, most, nullptr).pieces.bytes(),
          6 * static_cast<double>(rows) * static_cast<double>(options_.width) *
              static_cast<double>(options_.classes)};
}

std::vector<BlockProduct> Classifier::products(std::int64_t rows) const {
  const std::int64_t chunk = chunk_rows(rows);
  std::vector<BlockProduct> products;
  const auto add = [&](std::int64_t count, std::int64_t times) {
    for (BlockProduct& product : logits_of(options_).products(count)) {
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
  const ChunkMemory own(options_, context.engines, rows, chunk, memory.workspace);
  const Linear linear = logits_of(options_);
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const std::int64_t count = std::min(chunk, rows - first);
    const ConstTensor input =
        cast(context.exec, memory.input.row_range(first, count), rows_of(own.input, count));
    const Tensor logits = rows_of(own.logits, count);
    linear.forward(context, memory.weights, input, logits, own.products);
    const bool seeds = !gradients.input.empty();
    softmax_cross_entropy(context.exec, logits, truth.labels + first, seeds ? logits : Tensor(),
                          gradients.scale, gradients.inverse_count, own.row_sums.loss + first,
                          own.row_sums.correct + first, truth.classes);
    if (!seeds) continue;
    linear.weight_gradient(context, gradients.weights, gradients.accumulate || first > 0, logits, input,
                           own.products);
    const Tensor d_input = gradients.input.row_range(first, count);
    const bool casts = !own.input_gradient.empty();
    const Tensor dx = casts ? rows_of(own.input_gradient, count) : d_input;
    linear.input_gradient(context, memory.weights, logits, dx, own.products);
    if (casts) convert(context.exec, dx, d_input);
  }
  own.row_sums.add_to(context.exec, Prediction::classes, sums);
}

ConstTensor Classifier::outputs_of(const StepContext& context, const LossMemory& memory) const {
  const std::int64_t rows = memory.input.rows();
  if (rows > max_chunk_rows()) {
    fail_run(errors::internal, "logits of {} rows: at most {} at a time", rows, max_chunk_rows());
  }
  const ChunkMemory own(options_, context.engines, rows, rows, memory.workspace);
  const ConstTensor input = cast(context.exec, memory.input, own.input);
  logits_of(options_).forward(context, memory.weights, input, own.logits, own.products);
  return own.logits;
}

}  // namespace mylos
