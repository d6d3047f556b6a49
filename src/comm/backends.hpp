// The communicators that a build can have. Each is made in the file of its name; no_nccl.cpp stands in for
// NCCL's.
#pragma once

#include <memory>
#include <span>

#include "mylos/comm/communicator.hpp"

namespace mylos {

[[nodiscard]] std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm parent, double timeout_s);

/// What it takes after reserve(slot_bytes).
[[nodiscard]] std::size_t mpi_staging_bytes(int ranks, std::span<const std::size_t> slot_bytes);

[[nodiscard]] bool nccl_is_built();
[[nodiscard]] std::unique_ptr<Communicator> make_nccl_communicator(MPI_Comm parent, double timeout_s);

}  // namespace mylos
