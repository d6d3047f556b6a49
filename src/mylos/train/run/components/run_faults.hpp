// RunFaults: finds, by replay, where a step that was skipped became non-finite (fault_replay.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "mylos/train/health/fault_replay.hpp"
#include "mylos/train/run/components/run_component.hpp"

namespace mylos {

class RunChanges;

/// All ranks. Replays a step whose weights have not changed since. The batches then continue after it.
[[nodiscard]] std::optional<Fault> replay_step(const Quiesced& quiet, RunContext& run, std::int64_t step);

class RunFaults final : public RunComponent {
 public:
  /// `changes` receives faults that a change of types may cure.
  explicit RunFaults(RunChanges& changes) : changes_(changes) {}

  /// Acts on a skipped step for which no lower loss scale would have helped, while the step can still be
  /// replayed: reports the first fault once, or proposes an adaptation.
  void after_step(RunContext& run, LastStep& step) override;

 private:
  RunChanges& changes_;
  int replays_ = 0;  // of this start
};

}  // namespace mylos
