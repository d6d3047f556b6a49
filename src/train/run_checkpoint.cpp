// When a run writes a checkpoint, how, and what becomes of a disk that refuses it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/seconds_since.hpp"
#include "mylos/base/units.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/replicas.hpp"
#include "mylos/checkpoint/writer.hpp"
#include "mylos/train/run.hpp"

namespace mylos {

using Clock = std::chrono::steady_clock;

void Run::prepare_checkpoints() {
  saved_ = Clock::now();
  const CheckpointOptions& checkpoint = options_.checkpoint;
  if (!checkpoint.background || (checkpoint.every == 0 && checkpoint.every_minutes == 0)) return;
  std::string obstacle;
  if (memory_->checkpoint_copy == 0) obstacle = "a copy of the state does not fit memory.budget";
  if (communicator_->name() == "nccl") obstacle = "NCCL is active";
  in_background_ = obstacle.empty();
  if (!in_background_) request_.output.line("checkpoints are written between steps: " + obstacle);
  if (in_background_ && communicator_->rank() == 0)
    writer_ = std::make_unique<BackgroundWriter>(full_state(*trainer_, state_));
}

bool Run::is_checkpoint_due(bool log_point) {
  const CheckpointOptions& checkpoint = options_.checkpoint;
  if (finished()) return false;  // the last one is finish()'s
  if (checkpoint.every > 0 && step_ % checkpoint.every == 0) return true;
  if (checkpoint.every_minutes == 0 || !log_point) return false;
  char due = seconds_since(saved_) >= 60 * checkpoint.every_minutes ? 1 : 0;
  communicator_->ranks().broadcast(&due, sizeof due, 0);
  return due != 0;
}

void Run::write_checkpoint() {
  const auto start = saved_ = Clock::now();
  wait_for_writer();  // two are never in flight
  communicator_->synchronize(trainer_->execution());
  state_.step = trainer_->read_state();
  state_.position = position();
  state_.epoch = data_->epochs().of(position());
  state_.history = columns_of(history_->tail());
  CheckpointHeader header;
  header.step = step_;
  header.code_version = code_version();
  header.deck = request_.deck.resolved;
  header.world_size = communicator_->size();
  const CheckpointState state = full_state(*trainer_, state_);
  require_equal_replicas(communicator_->ranks(), trainer_->execution(), state);
  if (!in_background_ || finished()) {
    write_between_steps(header, state);
  } else if (writer_) {
    writer_->begin(options_.run.folder, header, state, options_.checkpoint);
  }
  logged_ = Clock::now();
  if (!finished()) held_s_ += seconds_since(start);  // the last one holds no step up
}

void Run::write_between_steps(const CheckpointHeader& header, const CheckpointState& state) {
  const auto start = Clock::now();
  try {
    const std::string path = mylos::write_checkpoint(communicator_->ranks(), options_.run.folder, header,
                                                     state, options_.checkpoint);
    saved_step_ = step_;
    note_checkpoint(path);
  } catch (const Error& error) {
    if (finished() || options_.checkpoint.on_error == OnError::stop) throw;
    meet_trouble(error);
  }
  writing_s_ = std::max(writing_s_, seconds_since(start));
}

void Run::look_at_writer() {
  if (writer_) {
    if (const auto outcome = writer_->take()) note_outcome(*outcome);
  }
}

void Run::wait_for_writer() {
  if (writer_) {
    if (const auto outcome = writer_->wait()) note_outcome(*outcome);
  }
}

void Run::note_outcome(const BackgroundWriter::Outcome& outcome) {
  writing_s_ = std::max(writing_s_, outcome.seconds);
  if (outcome.error) return meet_trouble(*outcome.error);
  ++written_beside_steps_;
  note_checkpoint(outcome.path);
}

void Run::note_checkpoint(const std::string& path) {
  ++written_;
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) return;  // somebody else has moved it
  progress_->note(fmt::format("checkpoint {} ({})", path, format_bytes(static_cast<std::int64_t>(bytes))));
}

void Run::meet_trouble(const Error& error) {
  if (options_.checkpoint.on_error == OnError::stop) {
    if (finished()) throw error;
    trainer_->bring_error(error);
  } else if (noted_trouble_ != error.what()) {  // the same again at each progress line would hide the rest
    noted_trouble_ = error.what();
    progress_->note(fmt::format("warning: {}; the run goes on (checkpoint.on_error)", error.what()));
  }
}

std::string Run::checkpoint_summary() const {
  return fmt::format(
      "{} written, {} of them beside the steps; they held the steps up for {:.2f} s ({:.2g} %)", written_,
      written_beside_steps_, held_s_, 100 * held_s_ / std::max(training_s_, 1e-9));
}

}  // namespace mylos
