// Rewind: what a run that has diverged changes of its deck, to go on from a checkpoint before the trouble
// (health.on_divergence = "rewind"; docs/health.md has the table of causes and changes).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/train/amendments.hpp"
#include "mylos/train/fault_replay.hpp"
#include "mylos/train/history.hpp"

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

}  // namespace mylos
