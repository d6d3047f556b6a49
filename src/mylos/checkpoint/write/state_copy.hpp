// StateCopy: host memory for a copy of what a rank holds of a run's state, from which a thread writes while
// the run goes on.
#pragma once

#include <Kokkos_Core.hpp>
#include <vector>

#include "mylos/checkpoint/file/state.hpp"

namespace mylos {

class StateCopy {
 public:
  /// Host memory that a copy of `state` takes.
  [[nodiscard]] static std::size_t memory_bytes(const CheckpointState& state);
  /// Takes that memory at once.
  explicit StateCopy(const CheckpointState& state);

  /// Points into the copy, which the next call overwrites.
  [[nodiscard]] CheckpointState of(const CheckpointState& state);

 private:
  Kokkos::View<std::byte*, Kokkos::HostSpace> large_;  // what lies in device memory
  std::vector<std::byte> small_;                       // the rest
};

}  // namespace mylos
