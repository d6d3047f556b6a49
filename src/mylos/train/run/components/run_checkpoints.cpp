#include "mylos/train/run/components/run_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/write/replicas.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {

using Clock = std::chrono::steady_clock;

RunCheckpoints::RunCheckpoints(const CheckpointOptions& options, std::string folder,
                               Communicator& communicator, Listener listener)
    : options_(options),
      folder_(std::move(folder)),
      communicator_(communicator),
      listener_(std::move(listener)),
      begun_(Clock::now()) {}

std::string RunCheckpoints::write_beside_steps(const CheckpointState& state, bool fits) {
  if (!options_.background || (options_.every == 0 && options_.every_minutes == 0)) return "";
  if (communicator_.runs_on_device()) return "collectives run on the device";
  if (!fits) return "a copy of the state does not fit memory.budget";
  beside_steps_ = true;
  const auto is_sharded = [](const StateArray& array) { return array.sharded; };
  if (std::any_of(state.arrays.begin(), state.arrays.end(), is_sharded)) {
    piece_writer_ = std::make_unique<PieceWriter>(communicator_.ranks(), state);
  } else if (communicator_.rank() == 0) {
    writer_ = std::make_unique<BackgroundWriter>(state);
  }
  return "";
}

void RunCheckpoints::decide(std::int64_t step, bool log_point, bool last) {
  due_ = !last && options_.every > 0 && step % options_.every == 0;
  if (due_ || last || options_.every_minutes == 0 || !log_point) return;
  due_ = seconds_since(begun_) >= 60 * options_.every_minutes;
  listener_.free_ranks();
  communicator_.ranks().broadcast(&due_, sizeof due_, 0);
}

void RunCheckpoints::begin() {
  begun_ = Clock::now();
  wait();
}

void RunCheckpoints::write(const CheckpointHeader& header, const CheckpointState& state,
                           const Execution& exec, bool last) {
  require_equal_replicas(communicator_.ranks(), exec, state);
  if (!beside_steps_ || last) {
    write_between_steps(header, state, last);
  } else if (piece_writer_) {
    piece_writer_->begin(folder_, header, state, options_);
  } else if (writer_) {
    writer_->begin(folder_, header, state, options_);
  }
  if (!last) held_s_ += seconds_since(begun_);  // the last one holds no step up
}

void RunCheckpoints::write_between_steps(const CheckpointHeader& header, const CheckpointState& state,
                                         bool last) {
  const auto start = Clock::now();
  try {
    const std::string path = write_checkpoint(communicator_.ranks(), folder_, header, state, options_);
    saved_step_ = header.step;
    note_file(path);
  } catch (const Error& error) {
    if (last || options_.on_error == OnError::stop) throw;
    listener_.trouble(error);
  }
  longest_s_ = std::max(longest_s_, seconds_since(start));
}

void RunCheckpoints::poll() {
  std::optional<CheckpointOutcome> outcome;
  if (piece_writer_ && piece_writer_->wants_look()) {
    listener_.free_ranks();
    outcome = piece_writer_->poll();
  }
  if (writer_) outcome = writer_->take();
  if (outcome) note_outcome(*outcome);
}

void RunCheckpoints::wait() {
  if (!beside_steps_) return;
  std::optional<CheckpointOutcome> outcome;
  if (piece_writer_) {
    outcome = piece_writer_->wait();
  } else {
    run_on_first(communicator_.ranks(), [&] { outcome = writer_->wait(); });
  }
  if (outcome) note_outcome(*outcome);
}

void RunCheckpoints::note_outcome(const CheckpointOutcome& outcome) {
  longest_s_ = std::max(longest_s_, outcome.seconds);
  if (outcome.error) return listener_.trouble(*outcome.error);
  ++written_beside_steps_;
  note_file(outcome.path);
}

void RunCheckpoints::note_file(const std::string& path) {
  ++written_;
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) return;  // somebody else has moved it
  listener_.note(fmt::format("checkpoint {} ({})", path, format_bytes(static_cast<std::int64_t>(bytes))));
}

std::string RunCheckpoints::summary(double elapsed_s) const {
  return fmt::format(
      "{} written, {} of them beside the steps; they held the steps up for {:.2f} s ({:.2f} % of the time)",
      written_, written_beside_steps_, held_s_, 100 * held_s_ / std::max(elapsed_s, 1e-9));
}

}  // namespace mylos
