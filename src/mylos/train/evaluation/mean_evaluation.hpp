// Evaluation of the mean of several predictions: an ensemble's, or that over dropout masks.
//
// The loss is the deck's, of the mean of the predictions: of classes that of the mean probabilities, and of
// loss "gaussian" that of the normal distribution with the mixture's mean and standard deviation. Losses and
// measures of the members are not averaged.
#pragma once

#include "mylos/config/options.hpp"
#include "mylos/inference/ensemble/uncertain_pass.hpp"
#include "mylos/train/evaluation/evaluation.hpp"

namespace mylos {

/// Receives every batch of this rank.
using ObserveUncertain = std::function<void(const UncertainBatch&)>;

/// All ranks. As evaluate(); `options`: those of the networks' deck, whose sizes are set.
[[nodiscard]] Evaluation evaluate_mean(const Quiesced& quiet, const Execution& exec, const Engines& engines,
                                       Communicator& communicator, const Options& options,
                                       UncertainPass& pass, std::span<const Measure> measures,
                                       const ColumnScaling& targets, const ObserveUncertain& observe = {});

}  // namespace mylos
