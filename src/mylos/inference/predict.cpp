#include "mylos/inference/predict.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/large_broadcast.hpp"
#include "mylos/inference/infer.hpp"

namespace mylos {
namespace {

void softmax(std::span<float> row) {
  const float largest = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (float& value : row) sum += value = std::exp(value - largest);
  for (float& value : row) value /= sum;
}

/// Outputs of a batch, and after them their deviations or quantiles, travel as one array.
void predict_all(const InferenceContext& context, RankGroup& ranks, EvaluationPass& pass, bool with_stated,
                 const ConsumeDistributions& consume) {
  const Chain& chain = context.model.chain();
  const bool has_deviations = with_stated && chain.has_deviations();
  const std::size_t levels = with_stated ? chain.quantiles().size() : 0;
  const Arena memory("predictions", float_output_bytes(chain, context.model.samples()));
  const Staging staging(chain, context.model.samples());
  std::vector<float> own;
  pass.rewind();
  for (bool has_more = true; has_more;) {
    ComputedSamples share;
    const auto take = [&](const StepContext& step, const MicroBatch&, const Batch& batch) {
      if (!pass.counts()) return;  // another rank has the same outputs
      share = {{batch.first_sample, batch.samples}, pass.shares_truth() ? GridPart() : pass.part()};
      copy_outputs(step, context.model, memory.tensor(0, DType::fp32, batch.samples, chain.outputs()), own);
      const std::size_t numbers = own.size();
      own.resize(numbers * (1 + levels + (has_deviations ? 1 : 0)));
      const std::span<float> stated = std::span(own).subspan(numbers);
      if (has_deviations) copy_deviations(step, context.model, batch.samples, stated);
      if (levels > 0) copy_quantiles(step, context.model, batch.samples, stated);
    };
    const Batch* batch = nullptr;
    const auto read = [&] { batch = pass.next(); };
    // Ranks that share samples wait for each other inside the network: first all must have read theirs.
    if (context.sample_ranks != nullptr) run_on_all(ranks, read);
    run_on_all(ranks, [&] {
      if (context.sample_ranks == nullptr) read();
      if (batch != nullptr) run_batch(context, staging, *batch, take);
    });
    const auto arrays = static_cast<std::int64_t>(1 + levels + (has_deviations ? 1 : 0));
    const std::int64_t width = arrays * chain.outputs();
    has_more =
        collect_on_first(ranks, share, own, width, [&](const ComputedSamples& part, std::span<float> values) {
          const std::size_t numbers = values.size() / static_cast<std::size_t>(arrays);
          const std::span<float> stated = values.subspan(numbers);
          consume(part, values.first(numbers),
                  {.deviations = has_deviations ? stated : std::span<float>(),
                   .quantiles = levels > 0 ? stated : std::span<float>()});
        });
  }
}

}  // namespace

bool collect_on_first(RankGroup& ranks, const ComputedSamples& share, std::vector<float>& own,
                      std::int64_t width, const ConsumeOutputs& consume) {
  std::vector<float> others;
  struct Computed {
    ComputedSamples samples;
    std::int64_t width = 0;  // boxes may differ
  };
  const Computed mine{share, width};
  std::vector<Computed> shares(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&mine, shares.data(), sizeof mine);
  if (std::all_of(shares.begin(), shares.end(), [](const Computed& each) { return each.samples.count == 0; }))
    return false;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Computed& part = shares[static_cast<std::size_t>(rank)];
    if (part.samples.count == 0) continue;
    std::vector<float>& values = rank == ranks.rank() ? own : others;
    values.resize(static_cast<std::size_t>(part.samples.count * part.width));
    broadcast_large(ranks, std::as_writable_bytes(std::span(values)), rank);
    run_on_all(ranks, [&] {
      if (ranks.rank() == 0) consume(part.samples, values);
    });
  }
  return true;
}

void predict(const InferenceContext& context, RankGroup& ranks, EvaluationPass& pass,
             const ConsumeOutputs& consume) {
  predict_all(context, ranks, pass, false,
              [&](const ComputedSamples& samples, std::span<float> outputs, const StatedOutputs& /*stated*/) {
                consume(samples, outputs);
              });
}

void predict_distributions(const InferenceContext& context, RankGroup& ranks, EvaluationPass& pass,
                           const ConsumeDistributions& consume) {
  predict_all(context, ranks, pass, true, consume);
}

void interpret_outputs(Prediction prediction, std::int64_t width, const Normalizer& normalizer,
                       std::span<float> values) {
  if (prediction == Prediction::probabilities) {
    for (float& value : values) {
      if (std::isfinite(value)) value = 1 / (1 + std::exp(-value));  // a user must see the others
    }
  } else if (prediction == Prediction::classes) {
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t row = 0; row < values.size(); row += columns) softmax(values.subspan(row, columns));
  } else {
    normalizer.undo_targets(values);
  }
}

void interpret_deviations(const Normalizer& normalizer, std::span<float> values) {
  normalizer.undo_deviations(values);
}

void NonFinite::count(std::int64_t first, std::span<const float> values, std::int64_t width) {
  std::int64_t last_row = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const std::int64_t row = first + static_cast<std::int64_t>(i) / width;
    if (outputs++ == 0 || row < first_row) {
      first_row = row;
      first_column = static_cast<std::int64_t>(i) % width;
    }
    if (row != last_row) ++rows;
    last_row = row;
  }
}

void NonFiniteInBoxes::count(const Share& samples, std::span<const float> values, const GridBox& box) {
  const std::int64_t width = std::ssize(values) / samples.count;
  const std::int64_t channels = width / box.points();
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    if (std::isfinite(values[static_cast<std::size_t>(i)])) continue;
    const std::int64_t row = samples.first + i / width;
    const std::int64_t column = box.point_of_grid(i % width / channels) * channels + i % channels;
    const bool is_before = std::pair(row, column) < std::pair(found_.first_row, found_.first_column);
    if (found_.outputs++ == 0 || is_before) {
      found_.first_row = row;
      found_.first_column = column;
    }
    if (rows_.insert(row).second) ++found_.rows;
  }
}

}  // namespace mylos
