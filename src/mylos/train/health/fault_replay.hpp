// Fault replay: finds where a step first becomes non-finite. It runs the step again from its unchanged
// weights and data, and checks every tensor that an operation writes, before anything is reduced over ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/train/history/run_events.hpp"

namespace mylos {

class BatchSource;
class Quiesced;
struct StepState;
class Trainer;

struct Fault {
  int rank = 0;
  std::string layer;
  std::string tensor;
  std::int64_t row = 0;  // of the first value that is not finite
  std::int64_t column = 0;
};

/// All ranks call it; `batches` gives the micro-batches of the step in question again. The fault of the
/// lowest rank that has one, on every rank; empty where every rank's own gradients are finite (the sum over
/// ranks overflowed).
[[nodiscard]] std::optional<Fault> find_fault(const Quiesced& quiet, Trainer& trainer, BatchSource& batches);

/// That a step was skipped, although no lower loss scale would have helped, and where that began.
[[nodiscard]] RunEvent not_finite_event(const StepState& state, const std::optional<Fault>& fault);

/// For people: that the run diverged in this state, and where. Without a full stop.
[[nodiscard]] std::string describe_divergence(const StepState& state, const std::optional<Fault>& fault);

}  // namespace mylos
