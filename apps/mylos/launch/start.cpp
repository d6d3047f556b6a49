#include "launch/start.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "mylos/comm/ranks/mpi_running.hpp"

namespace mylos::app {
namespace {

/// What the launcher says; null if nothing did.
const char* said_rank() {
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
  for (const char* variable : variables)
    if (const char* said = std::getenv(variable)) return said;
  return nullptr;
}

/// None: not asked for yet.
std::optional<RankGroup>& group_of_start() {
  static std::optional<RankGroup> group;
  return group;
}

/// The result of `question` (MPI_Comm_rank, MPI_Comm_size) for MPI_COMM_WORLD.
int ask_world(int (*question)(MPI_Comm, int*), int alone) {
  int answer = alone;
  if (mpi_is_running()) question(MPI_COMM_WORLD, &answer);
  return answer;
}

}  // namespace

bool was_launched() {
  return said_rank() != nullptr;
}

int launched_rank() {
  const char* said = said_rank();
  return said == nullptr ? 0 : std::max(0, std::atoi(said));
}

RankGroup& ranks_of_start() {
  std::optional<RankGroup>& group = group_of_start();
  if (group) return *group;
  return mpi_is_running() ? group.emplace(MPI_COMM_WORLD, CommunicationOptions{}.timeout_s) : group.emplace();
}

void keep_deadline(const CommunicationOptions& options) {
  if (!mpi_is_running() || ranks_of_start().timeout_s() == options.timeout_s) return;
  group_of_start().emplace(MPI_COMM_WORLD, options.timeout_s);
}

CommunicationOptions communication_of_start() {
  CommunicationOptions options;
  if (mpi_is_running()) options.timeout_s = ranks_of_start().timeout_s();
  return options;
}

void leave_start() {
  group_of_start().reset();
}

int rank_of_start() {
  return ask_world(MPI_Comm_rank, 0);
}

int size_of_start() {
  return ask_world(MPI_Comm_size, 1);
}

}  // namespace mylos::app
