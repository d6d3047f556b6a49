#include "mylos/checkpoint/background_writer.hpp"

#include <chrono>
#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/region.hpp"
#include "mylos/base/seconds_since.hpp"
#include "mylos/checkpoint/writer.hpp"
#include "stored_bytes.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t bytes_of(const StateArray& array) {
  return static_cast<std::size_t>(array.bytes());
}

std::size_t place_of(const StateArray& array) {
  return (bytes_of(array) + 63) / 64 * 64;  // elements of any type are aligned
}

std::size_t bytes_of(const CheckpointState& state, bool on_device) {
  std::size_t bytes = 0;
  for (const StateArray& array : state.arrays) bytes += array.on_device == on_device ? place_of(array) : 0;
  return bytes;
}

void copy_from_device(const StateArray& array, std::byte* target) {
  using Source = Kokkos::View<const std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Target = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const std::size_t bytes = bytes_of(array);
  Kokkos::deep_copy(Target(target, bytes), Source(static_cast<const std::byte*>(array.data), bytes));
}

}  // namespace

std::size_t BackgroundWriter::memory_bytes(const CheckpointState& state) {
  return bytes_of(state, true) + bytes_of(state, false);
}

// Zeros: the pages are there before the first copy, which steps wait for.
BackgroundWriter::BackgroundWriter(const CheckpointState& state)
    : large_("checkpoint copy", bytes_of(state, true)) {}

BackgroundWriter::~BackgroundWriter() {
  if (thread_.joinable()) thread_.join();
}

CheckpointState BackgroundWriter::copy_of(const CheckpointState& state) {
  if (bytes_of(state, true) > large_.size()) fail_run("a checkpoint's state has grown since the run began");
  small_.resize(bytes_of(state, false));
  CheckpointState copy = state;
  std::byte* large = large_.data();
  std::byte* small = small_.data();
  for (StateArray& array : copy.arrays) {
    std::byte*& target = array.on_device ? large : small;
    if (array.on_device) copy_from_device(array, target);
    if (!array.on_device && bytes_of(array) > 0) std::memcpy(target, array.data, bytes_of(array));
    array.data = target;
    target += place_of(array);
    array.on_device = false;
  }
  return copy;
}

void BackgroundWriter::begin(const std::string& folder, CheckpointHeader header, const CheckpointState& state,
                             const CheckpointOptions& options) {
  const Region region("checkpoint");
  if (thread_.joinable()) fail_run("a checkpoint is still being written");
  outcome_ = {};
  outcome_.step = header.step;
  ended_ = false;
  thread_ = std::thread([this, folder, header = std::move(header), copy = copy_of(state), options] {
    const auto start = Clock::now();
    try {
      outcome_.path = write_checkpoint_alone(folder, header, copy, options);
    } catch (const Error& error) {
      outcome_.error = error;
    } catch (const std::exception& error) {
      outcome_.error = Error(ExitCode::failed, error.what());
    }
    outcome_.seconds = seconds_since(start);
    ended_ = true;
  });
}

std::optional<BackgroundWriter::Outcome> BackgroundWriter::take() {
  if (!ended_) return std::nullopt;
  return wait();
}

std::optional<BackgroundWriter::Outcome> BackgroundWriter::wait() {
  if (!thread_.joinable()) return std::nullopt;
  thread_.join();
  ended_ = false;
  return std::move(outcome_);
}

}  // namespace mylos
