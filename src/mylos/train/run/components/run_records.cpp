#include "mylos/train/run/components/run_records.hpp"

#include <fmt/format.h>

#include <utility>

#include "mylos/io/files/output_file.hpp"
#include "mylos/train/run/components/run_context.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

void RunRecords::open(const RunContext& run) {
  health_.emplace(run.options(), run.trainer(), run.file_of_first_rank("health.csv"));
}

std::vector<std::string> RunRecords::begin_anew(RunContext& run) {
  return {run.log.begin_anew(), evaluations_.begin_anew(), health_->begin_anew()};
}

bool RunRecords::wants_step(RunContext& run, const LastStep& /*step*/) {
  const std::int64_t step = run.position.step;
  return run.log.is_due(step) || health_->is_full(run.log.written(), step);
}

void RunRecords::after_step(RunContext& run, LastStep& step) {
  if (!step.is_logged) return;
  note_refusals(run);
  poll_health(run, run.position.step);
  write(run);
  const auto steps_left = static_cast<double>(run.position.total - run.position.step);
  if (step.is_regular) run.log.show_progress(run.seconds_per_step() * steps_left);
  run.clock.count(&TimeParts::other_s);
}

/// Reports why attention and convolutions of a library are not used, and why steps are not captured. That is
/// known after the first steps.
void RunRecords::note_refusals(RunContext& run) {
  const std::string text = run.assembly.engines->take_refusals();
  if (!text.empty()) run.log.progress().note(text);
  const std::string refusal = run.trainer().take_recording_refusal();
  if (refusal.empty()) return;
  run.log.progress().note(
      fmt::format("kernels are launched one by one, no steps as CUDA graphs: {}", refusal));
}

void RunRecords::poll_health(RunContext& run, std::int64_t last) {
  const HealthOptions& options = run.options().health;
  for (RunEvent& event : health_->poll(run.trainer(), last)) {
    if (!loss_jump_) loss_jump_ = loss_jump_of(event, options);
    if (run.log.events().wants(event)) run.log.record(std::move(event));
  }
}

std::optional<Divergence> RunRecords::take_loss_jump() {
  return std::exchange(loss_jump_, std::nullopt);
}

/// Includes rows that the disk refused before.
void RunRecords::write(RunContext& run) {
  const auto attempt = [&run](const auto& write_file) {
    try {
      write_file();
    } catch (const Error& error) {
      run.on_io_error(error);
    }
  };
  attempt([&] { run.log.write_rows(run.trainer(), run.position.step, run.position, run.clock); });
  attempt([&] { evaluations_.write({}); });
  attempt([&] { health_->write(); });
}

void RunRecords::keep(RunContext& run) {
  try {
    run.log.write_rows(run.trainer(), static_cast<std::int64_t>(run.trainer().read_state().step),
                       run.position, run.clock);
    health_->write();
    run.log.write_events();
  } catch (const std::exception&) {  // what ends the run is more important
  }
}

void RunRecords::finish(RunContext& run, const Quiesced& /*quiet*/) {
  write(run);
  if (!run.is_first_rank()) return;
  try {
    for (const char* table : {"history.csv", "evaluations.csv", "health.csv"})
      if (is_regular(run.file(table))) sync_file(run.file(table));
  } catch (const Error& error) {
    run.on_io_error(error);
  }
}

// The order here is that of the arrays in checkpoints; below, that of messages.

void RunRecords::save(RunContext& run, CheckpointState& state) {
  run.log.save(state);
  health_->save(state);
  evaluations_.save(state);
}

void RunRecords::make_room(RunContext& run, const CheckpointReader& saved, CheckpointState& state) {
  run.log.make_room(saved, state);
  health_->make_room(saved, state);
  evaluations_.make_room(saved, state);
}

/// Finds all that is invalid before any file is cut.
std::vector<std::string> RunRecords::restore(RunContext& run, const CheckpointState& state,
                                             const std::string& source) {
  const std::int64_t step = run.position.step;
  health_->require_valid(source);
  evaluations_.require_valid(source, step);
  return {run.log.restore(state, source, step, run.clock), evaluations_.restore(step),
          health_->restore(step)};
}

}  // namespace mylos
