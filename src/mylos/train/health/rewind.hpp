// Rewind: the changes that a diverged run makes to its deck when it resumes from a checkpoint before the
// divergence (health.on_divergence = "rewind"). docs/explanation/health.md has the table of causes and
// changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/precision/loss_scaler.hpp"
#include "mylos/train/health/fault_replay.hpp"
#include "mylos/train/history/amendments.hpp"
#include "mylos/train/history/history.hpp"

namespace mylos {

/// A run's failure to learn. It is the same on all ranks.
struct Divergence {
  std::uint64_t first = 0;          // first step of the divergence
  std::string cause;                // health_cause::not_finite or ::loss, or adaptation_cause::often
  std::optional<Fault> fault = {};  // for not_finite, if a fault was found
  std::string text;                 // the message, without a full stop
};

/// Returns the first step of the uninterrupted sequence of skipped steps at the end of the history; the step
/// after the last one if that was not skipped.
[[nodiscard]] std::uint64_t first_of_last_skips(const History& history);

/// Returns whether the input data are not finite in any type. The same batches would come again.
[[nodiscard]] bool is_of_the_data(const Divergence& divergence, const Options& options);

[[nodiscard]] bool is_rewind(const Amendment& amendment);
/// Returns the number of times that the run has returned to a checkpoint.
[[nodiscard]] std::int64_t count_returns(const Amendments& amendments);
/// Returns whether the last return was to this step.
[[nodiscard]] bool has_returned_last_to(std::int64_t step, const Amendments& amendments);

/// Returns the changes that the run with these (amended) options makes to resume from step `from`. `again`:
/// the changes of the last return were insufficient. Returns nothing if no change can help, because the data
/// themselves are not finite or the deck allows no change.
[[nodiscard]] std::optional<Amendment> amendment_after(const Divergence& divergence, const Options& options,
                                                       const Amendments& before, std::int64_t from,
                                                       bool again);

/// Returns the divergence that an event reports, if the deck lets a loss jump lead to a rewind; nothing for
/// every other event.
[[nodiscard]] std::optional<Divergence> loss_jump_of(const RunEvent& event, const HealthOptions& options);

/// Returns the newest checkpoint of a step below `step`.
using FindCheckpoint = std::function<std::optional<CheckpointFile>(std::int64_t step)>;

/// A decision whether and how a run returns to a checkpoint.
struct ReturnPlan {
  std::optional<Amendment> amendment;  // what the run changes; nothing: it does not return
  std::string checkpoint;              // the path of the file that it resumes from
  std::string obstacle;                // why it does not return; "": the deck does not ask for it
};
/// Plans the return of the run with these (amended) options to the newest checkpoint before the divergence
/// whose step is a multiple of checkpoint.every. Other checkpoints do not count: they are written because of
/// a stop, a better evaluation or the clock, and a run that was stopped and resumed must return to the same
/// step as one that was not. If the last return went to the same checkpoint, the run takes the one before
/// it, if there is one.
[[nodiscard]] ReturnPlan plan_return(const Divergence& divergence, const Options& options,
                                     const Amendments& before, const FindCheckpoint& find);

/// Returns the loss scaler's state for the run with these (amended) options, whose last amendment is `last`.
/// `state` is the state in the checkpoint that the run resumes from. The scale is multiplied by the
/// amendment's factor, but does not fall below precision.scaler.min_scale. Good steps are reset, as they do
/// not count for the new scale.
[[nodiscard]] ScalerState scaler_after_return(ScalerState state, const Options& options,
                                              const Amendment& last);

}  // namespace mylos
