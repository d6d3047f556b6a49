// Error ids of runs, checkpoints and their folders. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// There is no valid checkpoint where one is needed.
inline constexpr ErrorId no_checkpoint{"no-checkpoint"};
/// The run's folder has checkpoints of an earlier run.
inline constexpr ErrorId folder_has_checkpoints{"folder-has-checkpoints"};
/// Another process works in the run's folder.
inline constexpr ErrorId folder_in_use{"folder-in-use"};
/// The checkpoint, or model file, holds weights without the state of an optimizer.
inline constexpr ErrorId weights_only{"weights-only"};
/// The file of weights has no moving average of them.
inline constexpr ErrorId no_average{"no-average"};
/// The deck or the data are not those with which the run began, in something that a restart cannot change.
inline constexpr ErrorId restart_mismatch{"restart-mismatch"};
/// The weights are those of another network, or networks of an ensemble differ.
inline constexpr ErrorId model_mismatch{"model-mismatch"};
/// A stored memory plan is that of another network, micro-batch or machine, or is not a plan.
inline constexpr ErrorId plan_mismatch{"plan-mismatch"};
/// The metric or quantity is not measured in this run.
inline constexpr ErrorId not_measured{"not-measured"};
/// `run.reproducible` cannot be kept with these options or this number of ranks.
inline constexpr ErrorId not_reproducible{"not-reproducible"};
/// Ranks that must hold the same weights hold different ones: a fault of memory or of a processor, or
/// different programs on the ranks.
inline constexpr ErrorId replicas_differ{"replicas-differ"};
/// The loss or the gradients are no longer finite, or the loss scale reached its minimum.
inline constexpr ErrorId diverged{"diverged"};
/// The command was asked to stop before its end.
inline constexpr ErrorId stopped{"stopped"};

}  // namespace mylos::errors
