// StateCopy: host memory for a copy of this rank's state, from which a thread writes while the run continues.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "mylos/checkpoint/file/state.hpp"

namespace mylos {

class StateCopy {
 public:
  /// Returns the host memory of a copy of `state`.
  [[nodiscard]] static std::size_t memory_bytes(const CheckpointState& state);
  /// Allocates that memory.
  explicit StateCopy(const CheckpointState& state);

  /// Copies the state. The result points into the copy, which the next call overwrites.
  [[nodiscard]] CheckpointState of(const CheckpointState& state);

 private:
  std::size_t large_bytes_;
  std::shared_ptr<std::byte> large_;  // data from device memory
  std::vector<std::byte> small_;      // all other data
};

}  // namespace mylos
