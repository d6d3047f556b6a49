// StepState: the state of a step that lives and advances on the device, so that a step needs no host.
//
// decide() computes the factors of the update from the agreement. After the update, advance() advances scaler
// and counters and writes a record of the step.
#pragma once

#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/model/block/loss_head.hpp"
#include "mylos/optim/options.hpp"
#include "mylos/optim/update/schedule.hpp"
#include "mylos/optim/update/step_record.hpp"
#include "mylos/precision/loss_scaler.hpp"

namespace mylos {

class AgreementBuffer;
struct AgreementResult;

/// Input of the fused update.
struct UpdateControl {
  std::int32_t apply = 0;           // 0: the step is skipped, nothing changes
  std::int32_t health_record = -1;  // index of the record for the update's sums; -1: not observed
  float gradient_factor = 0;        // unscale and clip: multiplies the gradients
  float unscale = 0;                // the same without clipping
  float lr = 0;
  float bias_correction1 = 1;  // 1 - beta1^t, t counts updates from 1 (Adam)
  float bias_correction2 = 1;
  std::uint64_t updates = 0;  // updates before this one: the key of the random numbers that round weights
};

struct StepState {
  std::uint64_t step = 0;     // steps begun before this one: the key of the step's random numbers
  std::uint64_t updates = 0;  // steps that were not skipped
  ScalerState scaler;
  UpdateControl control;
  StepRecord record;        // of the last step
  std::int32_t halted = 0;  // diverged or failed: later steps change nothing
};

/// The constants of decide() and advance().
struct StepRule {
  ScalerRule scaler;
  LearningRate rate;
  double clip_norm = 0;  // 0 = off
  double beta1 = 0;
  double beta2 = 0;
  std::int64_t health_every = 0;  // one step in this many is observed; 0: none
  std::int64_t health_records = 0;
  /// The rows over all ranks by which the gradients have been divided. The update divides by the rows that
  /// the ranks agreed on instead; 0: these are the same.
  double planned_rows = 0;
};

/// Returns the index in the ring of this step's health record; -1 if the step is not observed.
KOKKOS_INLINE_FUNCTION std::int32_t health_record(const StepRule& rule, std::uint64_t step) {
  const auto number = static_cast<std::int64_t>(step);
  if (rule.health_every == 0 || number % rule.health_every != 0) return -1;
  return static_cast<std::int32_t>(number / rule.health_every % rule.health_records);
}

/// A step whose gradients are those of a program's own loss. The same on all ranks, except `loss`.
struct OwnLossInput {
  std::int32_t is_used = 0;  // 0: the loss is the chain's, and the other members do not count
  std::int32_t call = 0;     // bits of the call that ends the step; 0 stands for a step with the chain's loss
  std::int32_t by_rows = 0;  // 1: gradients and loss are divided by the rows that the ranks agreed on
  double weight = 1;         // of the gradients after unscaling, before that division
  double lr = -1;            // >= 0: instead of the learning-rate schedule
  double loss = 0;           // this rank's part
};

/// The input of a step from the host, except its batches. Kernels read it from device memory instead of
/// receiving it as an argument, so that a captured step can be replayed.
struct StepInput {
  std::int64_t rows = 0;   // rows of this rank in the step
  std::int32_t stop = 0;   // this rank + 1 if it was asked to stop, else 0
  std::int32_t error = 0;  // this rank + 1 if it cannot continue, else 0
  OwnLossInput own;
};

/// Copies `input` to `device`, ordered after the work enqueued on `exec`, without waiting for it.
void upload(const Execution& exec, const StepInput& input, StepInput* device);

/// Sets the sums of a step to zero. Called before its first micro-batch.
void begin_step(const Execution& exec, LossSums* sums);

/// Writes this rank's part of the agreement, except the results of the gradient check: the step input, and
/// the loss of its rows.
void state_own_part(const Execution& exec, const StepInput* input, const LossSums* sums,
                    const AgreementBuffer& agreement);

/// Computes state.control and state.record from the agreement, the scaler and what all ranks have in common
/// of `input`. If no rank has rows, the step is not applied.
void decide(const Execution& exec, const StepRule& rule, const StepInput* input,
            const AgreementResult* agreed, StepState* state);

/// Advances scaler and counters, and copies the record to records[step % capacity]. A step without rows does
/// not affect the scale.
void advance(const Execution& exec, const StepRule& rule, const AgreementResult* agreed, StepState* state,
             StepRecord* records, std::int64_t capacity);

}  // namespace mylos
