// A file of its own, without Kokkos: nvcc 13 breaks down on a vector of cpu_set_t.
#include "core_share.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace mylos::app {

CoreShare core_share() {
  cpu_set_t own;
  CPU_ZERO(&own);
  sched_getaffinity(0, sizeof(own), &own);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int size = 1;
  MPI_Comm_size(node, &size);
  std::vector<cpu_set_t> all(static_cast<std::size_t>(size));
  MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, node);
  MPI_Comm_free(&node);
  const auto sharing = std::count_if(all.begin(), all.end(), [&](const cpu_set_t& other) {
    return std::memcmp(&other, &own, sizeof(own)) == 0;
  });
  return {std::max(1, CPU_COUNT(&own)), static_cast<int>(sharing)};
}

}  // namespace mylos::app
