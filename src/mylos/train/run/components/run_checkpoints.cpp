#include "mylos/train/run/components/run_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/write/replicas.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/train/run/components/run_context.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

using Clock = std::chrono::steady_clock;

RunCheckpoints::RunCheckpoints(const CheckpointOptions& options, std::string folder,
                               Communicator& communicator)
    : options_(options), folder_(std::move(folder)), communicator_(communicator), begun_(Clock::now()) {}

std::string RunCheckpoints::write_asynchronously(const CheckpointState& state, bool fits) {
  if (!options_.background || (options_.every == 0 && options_.every_minutes == 0)) return "";
  if (communicator_.runs_on_device()) return "collectives run on the device";
  if (!fits) return "a copy of the state does not fit memory.budget";
  is_asynchronous_ = true;
  const auto is_sharded = [](const StateArray& array) { return array.sharded; };
  if (std::any_of(state.arrays.begin(), state.arrays.end(), is_sharded)) {
    piece_writer_ = std::make_unique<PieceWriter>(communicator_.ranks(), state);
  } else if (communicator_.rank() == 0) {
    writer_ = std::make_unique<BackgroundWriter>(state);
  }
  return "";
}

bool RunCheckpoints::wants_step(RunContext& run, const LastStep& step) {
  due_ = !step.is_last && options_.every > 0 && run.position.step % options_.every == 0;
  if (due_ || step.is_last || options_.every_minutes == 0 || !step.is_regular) return due_;
  due_ = seconds_since(begun_) >= 60 * options_.every_minutes;
  const Quiesced quiet = run.quiesce();
  run.ranks(quiet).broadcast(&due_, sizeof due_, 0);
  return due_;
}

void RunCheckpoints::begin(const Quiesced& quiet, RunContext& run) {
  begun_ = Clock::now();
  wait(quiet, run);
}

void RunCheckpoints::write(const Quiesced& quiet, RunContext& run, const CheckpointHeader& header,
                           const CheckpointState& state, bool last) {
  require_equal_replicas(run.ranks(quiet), run.trainer().execution(), state);
  if (!is_asynchronous_ || last) {
    write_between_steps(run, header, state, last);
  } else if (piece_writer_) {
    piece_writer_->begin(folder_, header, state, options_);
  } else if (writer_) {
    writer_->begin(folder_, header, state, options_);
  }
  if (!last) stalled_s_ += seconds_since(begun_);  // no step waits for the last one
}

void RunCheckpoints::write_between_steps(RunContext& run, const CheckpointHeader& header,
                                         const CheckpointState& state, bool last) {
  const auto start = Clock::now();
  try {
    const std::string path = write_checkpoint(communicator_.ranks(), folder_, header, state, options_);
    saved_step_ = header.step;
    note_file(run, path);
  } catch (const Error& error) {
    if (last || options_.on_error == OnError::stop) throw;
    run.on_io_error(error);
  }
  longest_s_ = std::max(longest_s_, seconds_since(start));
}

void RunCheckpoints::after_step(RunContext& run, LastStep& /*step*/) {
  if (run.next) return;  // the next segment starts from an older checkpoint
  std::optional<CheckpointOutcome> outcome;
  if (piece_writer_ && piece_writer_->is_poll_due()) {
    [[maybe_unused]] const Quiesced quiet = run.quiesce();
    outcome = piece_writer_->poll();
  }
  if (writer_) outcome = writer_->take();
  if (outcome) note_outcome(run, *outcome);
}

void RunCheckpoints::wait(const Quiesced& quiet, RunContext& run) {
  if (!is_asynchronous_) return;
  std::optional<CheckpointOutcome> outcome;
  if (piece_writer_) {
    outcome = piece_writer_->wait();
  } else {
    run_on_first(run.ranks(quiet), [&] { outcome = writer_->wait(); });
  }
  if (outcome) note_outcome(run, *outcome);
}

std::vector<std::string> RunCheckpoints::restore(RunContext& run, const CheckpointState& /*state*/,
                                                 const std::string& /*source*/) {
  saved_step_ = run.position.step;
  return {};
}

void RunCheckpoints::finish(RunContext& run, const Quiesced& quiet) {
  wait(quiet, run);
  run.clock.count(&TimeParts::checkpoints_s);
}

void RunCheckpoints::note_outcome(RunContext& run, const CheckpointOutcome& outcome) {
  longest_s_ = std::max(longest_s_, outcome.seconds);
  if (outcome.error) return run.on_io_error(*outcome.error);
  ++written_asynchronously_;
  note_file(run, outcome.path);
}

void RunCheckpoints::note_file(RunContext& run, const std::string& path) {
  ++written_;
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) return;  // somebody else has moved it
  run.log.progress().note(
      fmt::format("checkpoint {} ({})", path, format_bytes(static_cast<std::int64_t>(bytes))));
}

std::string RunCheckpoints::summary(double elapsed_s) const {
  return fmt::format(
      "{} written, {} of them asynchronously; they stalled training for {:.2f} s ({:.2f} % of the time)",
      written_, written_asynchronously_, stalled_s_, 100 * stalled_s_ / std::max(elapsed_s, 1e-9));
}

}  // namespace mylos
