// Evaluation: the mean loss, the accuracy or perplexity, and the other measures of a deck, over a part of the
// data.
#pragma once

#include <functional>
#include <string>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/context.hpp"
#include "mylos/train/evaluation/measures/measures.hpp"
#include "mylos/train/step/network_plan.hpp"
#include "mylos/train/step/quiesced.hpp"

namespace mylos {

/// What an evaluation measures: how well classes, targets or the tokens that come next are predicted.
enum class EvaluationKind { classes, targets, tokens };

[[nodiscard]] EvaluationKind evaluation_kind(const Chain& chain);

struct Evaluation {
  EvaluationKind kind = EvaluationKind::classes;
  std::int64_t count = 0;         // samples, each of all its boxes, or predicted tokens
  double loss = 0;                // mean over them
  double accuracy = 0;            // of classes and tokens
  MeasuredNumbers measured = {};  // those that were asked for
  std::optional<ClassMeasures> classes = {};
  std::optional<TargetMeasures> targets = {};

  [[nodiscard]] double perplexity() const;  // e^loss
};

/// Returns how a rank of a run passes over the data that are evaluated: its box of the samples of its share.
[[nodiscard]] EvaluationOptions evaluation_options(const NetworkPlan& network, int rank);

/// Receives every batch after the network has run on it.
using ObserveBatch = std::function<void(const StepContext&, const Batch&)>;

/// All ranks call it, each with a pass over its part. Returns on every rank the result over all parts. Throws
/// Error (bad_input) for measures that such a network does not have. `targets`: how training scaled those
/// that the pass reads.
[[nodiscard]] Evaluation evaluate(const Quiesced& quiet, const InferenceContext& context,
                                  Communicator& communicator, EvaluationPass& pass,
                                  std::span<const Measure> measures = {}, const ObserveBatch& observe = {},
                                  const ColumnScaling& targets = {});

/// Returns the bytes that evaluate() allocates while it runs, in the memory of the network.
/// WantedMeasures::memory() has those of the host.
[[nodiscard]] std::size_t evaluation_bytes(const Chain& chain, std::int64_t samples,
                                           std::span<const Measure> measures = {});
/// Returns what a run plans for them. On hosts, the sums of an evaluation without measures are part of what
/// is reserved for libraries.
[[nodiscard]] PartMemory evaluation_memory(const Chain& chain, std::int64_t samples,
                                           std::span<const Measure> measures);

/// Returns "loss 0.3312, accuracy 0.8947 (10000 samples)"; without accuracy for a regression, with perplexity
/// for tokens, and with top-5 accuracy, R2, relative norms and CRPS where they were measured.
[[nodiscard]] std::string describe(const Evaluation& evaluation);

}  // namespace mylos
