// Replaces src/mylos/device/nccl in builds without NCCL.
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/group/backends.hpp"

namespace mylos {
namespace {

std::unique_ptr<Communicator> refuse(MPI_Comm, double) {
  fail_input(errors::not_in_build,
             "communication.backend = \"nccl\": this build has no NCCL; use \"mpi\", or build with NCCL for "
             "an NVIDIA device, with RCCL for an AMD device");
}

}  // namespace

Backend nccl_backend() {
  return {.name = "nccl",
          .serves = [](int) { return false; },
          .make = refuse,
          .staging_bytes = [](int, std::span<const SlotBytes>) { return std::size_t{0}; }};
}

}  // namespace mylos
