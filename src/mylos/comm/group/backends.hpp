// The communication backends of a build. Each is described in the file that defines it: mpi_communicator.cpp,
// src/mylos/device/nccl/collectives.cpp; src/mylos/device/none/collectives.cpp in builds without NCCL.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "mylos/comm/group/communicator.hpp"

namespace mylos {

struct Backend {
  std::string_view name;  // one of communication_backends
  /// Returns whether "auto" may select this backend.
  bool (*serves)(int ranks);
  /// Creates the communicator. Throws Error (bad_input) if the build does not contain the backend.
  std::unique_ptr<Communicator> (*make)(MPI_Comm parent, double timeout_s);
  /// Returns the staging bytes after reserve(slots).
  std::size_t (*staging_bytes)(int ranks, std::span<const SlotBytes> slots);
};

// Functions: Clang copies constants of namespaces to the device, and these point to functions of the host.
[[nodiscard]] Backend mpi_backend();
[[nodiscard]] Backend nccl_backend();

/// In the order in which "auto" tries them; the last backend serves any number of ranks.
[[nodiscard]] inline std::array<Backend, 2> backends() {
  return {nccl_backend(), mpi_backend()};
}

}  // namespace mylos
