// In place of nccl_communicator.cpp where NCCL is not built.
#include "backends.hpp"
#include "mylos/base/error.hpp"

namespace mylos {

bool nccl_is_built() {
  return false;
}

std::unique_ptr<Communicator> make_nccl_communicator(MPI_Comm, double) {
  fail_input(
      "communication.backend = \"nccl\": this build has no NCCL; \"mpi\" is there, or build with NCCL for an "
      "NVIDIA device");
}

}  // namespace mylos
