#include "mylos/checkpoint/write/background_writer.hpp"

#include <chrono>

#include "mylos/base/device/region.hpp"
#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/checkpoint/write/writer.hpp"

namespace mylos {

using Clock = std::chrono::steady_clock;

void BackgroundWriter::begin(const std::string& folder, CheckpointHeader header, const CheckpointState& state,
                             const CheckpointOptions& options) {
  const Region region("checkpoint");
  if (task_.started()) fail_run(errors::internal, "a checkpoint is still being written");
  outcome_ = {};
  outcome_.step = header.step;
  task_.start([this, folder, header = std::move(header), copy = copy_.of(state), options] {
    const auto start = Clock::now();
    const auto note_time = [&] { outcome_.seconds = seconds_since(start); };
    try {
      outcome_.path = write_checkpoint_alone(folder, header, copy, options);
    } catch (...) {
      note_time();
      throw;
    }
    note_time();
  });
}

std::optional<CheckpointOutcome> BackgroundWriter::take() {
  if (!task_.ended()) return std::nullopt;
  return wait();
}

std::optional<CheckpointOutcome> BackgroundWriter::wait() {
  if (!task_.started()) return std::nullopt;
  outcome_.error = task_.join();
  return std::move(outcome_);
}

}  // namespace mylos
