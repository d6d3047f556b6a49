// The communicators that a build can have. Each is described in the file of its name; no_nccl.cpp stands in
// for NCCL's.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "mylos/comm/group/communicator.hpp"

namespace mylos {

struct Backend {
  std::string_view name;  // one of communication_backends
  /// Whether "auto" may take it.
  bool (*serves)(int ranks);
  /// Throws Error (bad_input) where the build has it not.
  std::unique_ptr<Communicator> (*make)(MPI_Comm parent, double timeout_s);
  /// What it takes after reserve(slot_bytes).
  std::size_t (*staging_bytes)(int ranks, std::span<const std::size_t> slot_bytes);
};

extern const Backend mpi_backend;
extern const Backend nccl_backend;

/// In the order in which "auto" asks them; the last one serves everywhere.
inline constexpr std::array backends{&nccl_backend, &mpi_backend};

}  // namespace mylos
