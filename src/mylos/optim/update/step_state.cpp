#include "mylos/optim/update/step_state.hpp"

#include "mylos/comm/group/agreement.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

static_assert(sizeof(StepRule) + 4 * sizeof(void*) <= 512, "the host would wait: launch::captures_little");

void upload(const Execution& exec, const StepInput& input, StepInput* device) {
  if (runs_on_host) {  // kernels have completed when their launch returns
    *device = input;
    return;
  }
  // A launch copies its captures: no host buffer must outlive the copy.
  for_each_index(
      exec, "step input", 1, KOKKOS_LAMBDA(std::int64_t) { *device = input; });
}

void begin_step(const Execution& exec, LossSums* sums) {
  for_each_index(
      exec, "begin step", 1, KOKKOS_LAMBDA(std::int64_t) { *sums = LossSums{}; });
}

void state_own_part(const Execution& exec, const StepInput* input, const LossSums* sums,
                    const AgreementBuffer& agreement) {
  AgreementFlags* flags = agreement.own_flags();
  AgreementSums* part = agreement.own_sums();
  for_each_index(
      exec, "own part", 1, KOKKOS_LAMBDA(std::int64_t) {
        flags->stop = input->stop;
        flags->error = input->error;
        flags->set_call(input->own.call);
        part->samples = static_cast<double>(input->rows);
        part->loss = input->own.is_used != 0 ? input->own.loss : sums->loss;
      });
}

void decide(const Execution& exec, const StepRule& rule, const StepInput* input,
            const AgreementResult* agreed, StepState* state) {
  for_each_index(
      exec, "decide", 1, KOKKOS_LAMBDA(std::int64_t) {
        if (state->halted != 0) {  // the record remains that of the step that halted the run
          state->control.apply = 0;
          state->control.health_record = -1;
          return;
        }
        const AgreementResult result = *agreed;
        const OwnLossInput own = input->own;
        const double rows = result.sums.samples;
        double weight = rule.planned_rows > 0 && rows > 0 ? rule.planned_rows / rows : 1.0;
        if (own.is_used != 0) weight = own.by_rows != 0 && rows > 0 ? own.weight / rows : own.weight;
        const bool sums_loss = own.is_used != 0 && own.by_rows == 0;
        // A skipped step has no norm: some slices of its gradients are finite, and which ranks have them
        // depends on their number.
        const double norm = result.skip != 0 ? 0.0 : weight * Kokkos::sqrt(result.sums.squared_norm);
        const double room = rule.clip_norm / (norm + 1e-6);
        const double clip = rule.clip_norm > 0 && room < 1 ? room : 1.0;
        const auto time = static_cast<double>(state->updates + 1);
        UpdateControl control;
        control.apply = result.skip == 0 && rows > 0 ? 1 : 0;
        control.health_record = health_record(rule, state->step + 1);
        control.gradient_factor =
            static_cast<float>(weight * clip / static_cast<double>(state->scaler.scale));
        control.unscale = static_cast<float>(weight / static_cast<double>(state->scaler.scale));
        const double scheduled = rule.rate.at(static_cast<std::int64_t>(state->updates));
        control.lr = static_cast<float>(own.is_used != 0 && own.lr >= 0 ? own.lr : scheduled);
        control.bias_correction1 = static_cast<float>(1.0 - Kokkos::pow(rule.beta1, time));
        control.bias_correction2 = static_cast<float>(1.0 - Kokkos::pow(rule.beta2, time));
        control.updates = state->updates;
        state->control = control;
        state->record.rows = static_cast<std::int64_t>(rows);
        state->record.loss = rows > 0 ? result.sums.loss / (sums_loss ? 1.0 : rows) : 0.0;
        state->record.gradient_norm = norm;
        state->record.lr = control.lr;
        state->record.scale = state->scaler.scale;
        state->record.overflow = result.overflow;
        state->record.stop = result.stop;
        state->record.error = result.error;
      });
}

void advance(const Execution& exec, const StepRule& rule, const AgreementResult* agreed, StepState* state,
             StepRecord* records, std::int64_t capacity) {
  for_each_index(
      exec, "advance", 1, KOKKOS_LAMBDA(std::int64_t) {
        if (state->halted != 0) return;
        if (agreed->error != 0 || agreed->scales_differ != 0 || agreed->calls_differ != 0) {
          state->halted = 1;
          return;
        }
        const auto slot = static_cast<std::int64_t>(state->step) % capacity;
        const bool tried = agreed->overflow != 0 || agreed->sums.samples > 0;
        state->record.event =
            tried ? rule.scaler.advance(state->scaler, agreed->overflow != 0) : ScaleEvent::unchanged;
        if (state->control.apply != 0) state->scaler.note_applied(state->record.gradient_norm);
        state->step += 1;
        state->updates += static_cast<std::uint64_t>(state->control.apply);
        state->halted = rule.scaler.exhausted(state->scaler) ? 1 : 0;
        state->record.step = state->step;
        state->record.updates = state->updates;
        state->record.overflow_rate = state->scaler.recent.rate();
        state->record.increases = state->scaler.increases;
        state->record.decreases = state->scaler.decreases;
        state->record.tolerated = state->scaler.tolerated;
        records[slot] = state->record;
      });
}

}  // namespace mylos
