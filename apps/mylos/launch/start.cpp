#include "launch/start.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "mylos/comm/options.hpp"
#include "mylos/comm/ranks/mpi_running.hpp"

namespace mylos::app {
namespace {

/// The result of `question` (MPI_Comm_rank, MPI_Comm_size) for MPI_COMM_WORLD.
int ask_world(int (*question)(MPI_Comm, int*), int alone) {
  int answer = alone;
  if (mpi_is_running()) question(MPI_COMM_WORLD, &answer);
  return answer;
}

}  // namespace

bool was_launched() {
  constexpr std::array variables{
      "OMPI_COMM_WORLD_RANK",  // Open MPI
      "PMIX_RANK",             // PRRTE, Slurm with PMIx, and Open MPI again
      "PMI_RANK",              // MPICH, Intel MPI, Slurm with PMI-2
      "SLURM_PROCID",          // srun, whatever it says to MPI
      "PALS_RANKID",           // HPE Cray
      "FLUX_TASK_RANK",
      "JSM_NAMESPACE_RANK",  // IBM's jsrun
      "MV2_COMM_WORLD_RANK",
  };
  return std::any_of(variables.begin(), variables.end(),
                     [](const char* variable) { return std::getenv(variable) != nullptr; });
}

RankGroup ranks_of_start() {
  if (!mpi_is_running()) return {};
  return {MPI_COMM_WORLD, CommunicationOptions{}.timeout_s};
}

int rank_of_start() {
  return ask_world(MPI_Comm_rank, 0);
}

int size_of_start() {
  return ask_world(MPI_Comm_size, 1);
}

}  // namespace mylos::app
