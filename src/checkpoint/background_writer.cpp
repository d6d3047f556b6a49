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

std::size_t bytes_of(const StateArray& array, const StatePiece& piece) {
  return static_cast<std::size_t>(array.bytes_of(piece.count));
}

std::size_t place_of(const StateArray& array, const StatePiece& piece) {
  return (bytes_of(array, piece) + 63) / 64 * 64;  // elements of any type are aligned
}

std::size_t bytes_of(const CheckpointState& state, bool on_device) {
  std::size_t bytes = 0;
  for (const StateArray& array : state.arrays) {
    if (array.on_device != on_device) continue;
    for (const StatePiece& piece : array.pieces) bytes += place_of(array, piece);
  }
  return bytes;
}

void copy_from_device(const void* source, std::byte* target, std::size_t bytes) {
  using Source = Kokkos::View<const std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Target = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Target(target, bytes), Source(static_cast<const std::byte*>(source), bytes));
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
    for (StatePiece& piece : array.pieces) {
      const std::size_t bytes = bytes_of(array, piece);
      if (array.on_device) copy_from_device(piece.data, target, bytes);
      if (!array.on_device && bytes > 0) std::memcpy(target, piece.data, bytes);
      piece.data = target;
      target += place_of(array, piece);
    }
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
