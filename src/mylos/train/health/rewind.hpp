// Rewind: what a run that has diverged changes of its deck, to go on from a checkpoint before the trouble
// (health.on_divergence = "rewind"; docs/health.md has the table of causes and changes).
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

/// A run that no longer learns. The same on all ranks.
struct Divergence {
  std::uint64_t first = 0;          // the step with which the trouble began
  std::string cause;                // health_cause::not_finite or ::loss, or adaptation_cause::often
  std::optional<Fault> fault = {};  // of the former, where one was found
  std::string text;                 // for people, without a full stop
};

/// The first of the steps without gap, up to the last one of the history, that were skipped; the one behind
/// the last where none was.
[[nodiscard]] std::uint64_t first_of_last_skips(const History& history);

/// Data that no type makes finite: the same batches come again.
[[nodiscard]] bool is_of_the_data(const Divergence& divergence, const Options& options);

[[nodiscard]] bool is_rewind(const Amendment& amendment);
/// How often a run has gone back.
[[nodiscard]] std::int64_t count_returns(const Amendments& amendments);
/// Whether the last return was to this step too.
[[nodiscard]] bool has_returned_last_to(std::int64_t step, const Amendments& amendments);

/// What the run with these (amended) options changes to go on from step `from`. `again`: what the last return
/// changed was not enough. Nothing where no change can help: data that are not finite in themselves, or a
/// deck that allows none.
[[nodiscard]] std::optional<Amendment> amendment_after(const Divergence& divergence, const Options& options,
                                                       const Amendments& before, std::int64_t from,
                                                       bool again);

/// The divergence that an event reports, where the deck lets a jump of the loss lead back to a checkpoint;
/// nothing for every other event.
[[nodiscard]] std::optional<Divergence> loss_jump_of(const RunEvent& event, const HealthOptions& options);

/// Returns the newest checkpoint of a step below `step`.
using FindCheckpoint = std::function<std::optional<CheckpointFile>(std::int64_t step)>;

/// Whether a run returns to a checkpoint, and how.
struct ReturnPlan {
  std::optional<Amendment> amendment;  // what the run changes; nothing: it does not return
  std::string checkpoint;              // the path of the file that it resumes from
  std::string obstacle;                // why it does not return; "": the deck does not ask for it
};
/// Plans the return of the run with these (amended) options to the newest checkpoint of checkpoint.every from
/// before the trouble. Other checkpoints do not count: they are there because of a stop, a better evaluation
/// or the clock, and a run that was stopped and resumed must return to the same step as one that was not. If
/// the last return went there too, the run takes the one before it, where there is one.
[[nodiscard]] ReturnPlan plan_return(const Divergence& divergence, const Options& options,
                                     const Amendments& before, const FindCheckpoint& find);

/// The loss scaler's state of a checkpoint that the run with these (amended) options resumes from, after
/// `last` was added to its amendments: scaled by its factor, but not below precision.scaler.min_scale, and
/// with no good steps that would count for the new scale.
[[nodiscard]] ScalerState scaler_after_return(ScalerState state, const Options& options,
                                              const Amendment& last);

}  // namespace mylos
