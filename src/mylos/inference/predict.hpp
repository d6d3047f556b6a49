// Predictions: the outputs of a network for all samples of a data file, on any number of ranks, and what they
// mean to a user.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/context.hpp"

namespace mylos {

/// Samples of which a rank has computed the outputs: all of them, or those of its box.
struct ComputedSamples : Share {
  ComputedSamples(const Share& samples = {}, const GridPart& its_part = {})
      : Share(samples), part(its_part) {}
  GridPart part;
};

/// Receives the outputs [samples, outputs of the part] of these samples, on the host.
using ConsumeOutputs = std::function<void(const ComputedSamples& samples, std::span<float> outputs)>;
/// What a network states of its outputs, in the units of training; each is empty where it states none.
struct StatedOutputs {
  std::span<float> deviations;  // standard deviations [samples, outputs]
  std::span<float> quantiles;   // [levels, samples, outputs]
};
/// Receives also what the network states of them.
using ConsumeDistributions = std::function<void(const ComputedSamples& samples, std::span<float> outputs,
                                                const StatedOutputs& stated)>;

/// All ranks call it, each with a pass over its part. Rank 0 consumes the outputs of all of them batch by
/// batch, in no order across ranks. Throws Error on all ranks.
void predict(const InferenceContext& context, RankGroup& ranks, EvaluationPass& pass,
             const ConsumeOutputs& consume);
/// The same with deviations and quantiles.
void predict_distributions(const InferenceContext& context, RankGroup& ranks, EvaluationPass& pass,
                           const ConsumeDistributions& consume);

/// All ranks. Rank 0 consumes each rank's values [samples, its width], in the order of the ranks. Returns
/// whether a rank had samples. Throws Error on all ranks.
bool collect_on_first(RankGroup& ranks, const ComputedSamples& share, std::vector<float>& own,
                      std::int64_t width, const ConsumeOutputs& consume);

/// Turns the outputs [rows, width] of a network into what its user reads, in place: probabilities of
/// logits, else targets in their own units. inf and NaN stay what they are.
void interpret_outputs(Prediction prediction, std::int64_t width, const Normalizer& normalizer,
                       std::span<float> values);

/// Turns standard deviations [rows, outputs] from the units of training to those of the targets, in place.
void interpret_deviations(const Normalizer& normalizer, std::span<float> values);

/// Counts outputs that are inf or NaN.
struct NonFinite {
  std::int64_t outputs = 0;
  std::int64_t rows = 0;
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;

  /// Counts those of rows [first, first + values.size() / width); pieces may come in any order.
  void count(std::int64_t first, std::span<const float> values, std::int64_t width);
};

/// Counts them in the boxes of samples. Rows and columns are those of whole samples.
class NonFiniteInBoxes {
 public:
  /// Counts those of these samples in one box; pieces may come in any order.
  void count(const Share& samples, std::span<const float> values, const GridBox& box);
  [[nodiscard]] const NonFinite& found() const { return found_; }

 private:
  NonFinite found_;
  std::set<std::int64_t> rows_;
};

}  // namespace mylos
