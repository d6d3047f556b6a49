// StepState: everything of a step that lives and advances on the device, so that a step needs no host.
//
// decide() turns the agreement into the factors of the update; advance() moves scaler and counters on, after
// the update, and leaves a record of the step.
#pragma once

#include <cstdint>

#include "mylos/comm/group/agreement.hpp"
#include "mylos/model/network/model.hpp"
#include "mylos/optim/options.hpp"
#include "mylos/optim/update/schedule.hpp"
#include "mylos/precision/loss_scaler.hpp"

namespace mylos {

/// What the fused update reads.
struct UpdateControl {
  std::int32_t apply = 0;           // 0: the step is skipped, nothing is touched
  std::int32_t health_record = -1;  // where the update leaves its sums; -1: nobody looks at this step
  float gradient_factor = 0;        // unscale and clip: multiplies what is in the gradient buffer
  float unscale = 0;                // the same without the clipping
  float lr = 0;
  float bias_correction1 = 1;  // 1 - beta1^t, t counts updates from 1 (Adam)
  float bias_correction2 = 1;
  std::uint64_t updates = 0;  // before this one: the key of the random numbers that round weights
};

/// One line of the history.
struct StepRecord {
  std::uint64_t step = 0;     // number of the step, from 1
  std::uint64_t updates = 0;  // after it
  std::int64_t rows = 0;      // of all ranks
  double loss = 0;            // mean over them
  double gradient_norm = 0;   // after unscaling, before clipping
  float lr = 0;
  float scale = 0;  // with which the step was computed
  ScaleEvent event = ScaleEvent::unchanged;
  std::int32_t overflow = 0;  // rank + 1
  std::int32_t stop = 0;      // rank + 1
  std::int32_t error = 0;     // rank + 1
  // Of the scaler, after it.
  double overflow_rate = 0;    // of the last 1,000 steps
  std::int64_t increases = 0;  // of the scale, so far
  std::int64_t decreases = 0;  // likewise
  std::int64_t tolerated = 0;  // overflows, so far
};

struct StepState {
  std::uint64_t step = 0;     // steps begun before this one: the key of its random numbers
  std::uint64_t updates = 0;  // steps that were not skipped
  ScalerState scaler;
  UpdateControl control;
  StepRecord record;        // of the last step
  std::int32_t halted = 0;  // diverged or failed: later steps touch nothing
};

/// The constants of decide() and advance().
struct StepRule {
  ScalerRule scaler;
  LearningRate rate;
  double clip_norm = 0;  // 0 = off
  double beta1 = 0;
  double beta2 = 0;
  std::int64_t health_every = 0;  // steps of which one is looked at; 0: none
  std::int64_t health_records = 0;
  /// By how many rows, over all ranks, the gradients were divided before they came here. The update divides
  /// by those that the ranks agreed to have put in; 0: the same.
  double planned_rows = 0;
};

/// Where in the ring the health of this step lies, of those that are looked at; -1 for the others.
KOKKOS_INLINE_FUNCTION std::int32_t health_record(const StepRule& rule, std::uint64_t step) {
  const auto number = static_cast<std::int64_t>(step);
  if (rule.health_every == 0 || number % rule.health_every != 0) return -1;
  return static_cast<std::int32_t>(number / rule.health_every % rule.health_records);
}

/// All that the host tells the device in a step beside its batches. Kernels read it in device memory and are
/// not launched with it, so that a captured step can be replayed.
struct StepInput {
  std::int64_t rows = 0;   // that this rank put into the step
  std::int32_t stop = 0;   // this rank + 1 where it was asked to stop, else 0
  std::int32_t error = 0;  // this rank + 1 where it cannot go on, else 0
};

/// `device` = `input`, after the work that `exec` was given before, and without a wait for it.
void upload(const Execution& exec, const StepInput& input, StepInput* device);

/// Sets the sums of a step to zero, before its first micro-batch.
void begin_step(const Execution& exec, LossSums* sums);

/// Writes what this rank brings to the agreement beside the gradient check: what the host told, and the loss
/// of its rows.
void state_own_part(const Execution& exec, const StepInput* input, const LossSums* sums,
                    const AgreementBuffer& agreement);

/// agreement + scaler -> state.control and state.record. A step into which no rank put a row is not applied.
void decide(const Execution& exec, const StepRule& rule, const AgreementResult* agreed, StepState* state);

/// scaler, counters; the record is copied to records[step % capacity]. A step without rows says nothing of
/// the scale.
void advance(const Execution& exec, const StepRule& rule, const AgreementResult* agreed, StepState* state,
             StepRecord* records, std::int64_t capacity);

}  // namespace mylos
