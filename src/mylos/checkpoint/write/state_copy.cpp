#include "mylos/checkpoint/write/state_copy.hpp"

#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

std::size_t bytes_of(const StateArray& array, const StatePiece& piece) {
  return static_cast<std::size_t>(array.memory_bytes_of(piece.count));
}

std::size_t aligned_bytes_of(const StateArray& array, const StatePiece& piece) {
  return (bytes_of(array, piece) + 63) / 64 * 64;  // aligned for any element type
}

std::size_t bytes_of(const CheckpointState& state, bool on_device) {
  std::size_t bytes = 0;
  for (const StateArray& array : state.arrays) {
    if (array.on_device != on_device) continue;
    for (const StatePiece& piece : array.pieces) bytes += aligned_bytes_of(array, piece);
  }
  return bytes;
}

void copy_from_device(const void* source, std::byte* target, std::size_t bytes) {
  using Source = Kokkos::View<const std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Target = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Target(target, bytes), Source(static_cast<const std::byte*>(source), bytes));
}

}  // namespace

std::size_t StateCopy::memory_bytes(const CheckpointState& state) {
  return bytes_of(state, true) + bytes_of(state, false);
}

StateCopy::StateCopy(const CheckpointState& state) : large_bytes_(bytes_of(state, true)) {
  // Zero-initialised, so that the pages are mapped before the first copy, for which steps wait.
  const Kokkos::View<std::byte*, Kokkos::HostSpace> memory("checkpoint copy", large_bytes_);
  large_ = {memory.data(), [memory](std::byte*) {}};
}

CheckpointState StateCopy::of(const CheckpointState& state) {
  if (bytes_of(state, true) > large_bytes_)
    fail_run(errors::internal, "a checkpoint's state has grown since the run began");
  small_.resize(bytes_of(state, false));
  CheckpointState copy = state;
  std::byte* large = large_.get();
  std::byte* small = small_.data();
  for (StateArray& array : copy.arrays) {
    std::byte*& target = array.on_device ? large : small;
    for (StatePiece& piece : array.pieces) {
      const std::size_t bytes = bytes_of(array, piece);
      if (array.on_device) copy_from_device(piece.data, target, bytes);
      if (!array.on_device && bytes > 0) std::memcpy(target, piece.data, bytes);
      piece.data = target;
      target += aligned_bytes_of(array, piece);
    }
    array.on_device = false;
  }
  return copy;
}

}  // namespace mylos
