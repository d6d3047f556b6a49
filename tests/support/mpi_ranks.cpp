// The ranks of MPI_COMM_WORLD. With MYLOS_TEST_MPI_THREADS=one MPI takes calls of one thread alone.
#include <fmt/ranges.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "support/leak_check.hpp"
#include "support/ranks.hpp"

namespace mylos::test {

void start_ranks(int* argument_count, char*** arguments) {
  const char* threads = std::getenv("MYLOS_TEST_MPI_THREADS");
  const bool is_one = threads != nullptr && std::string_view(threads) == "one";
  // A program alone needs no daemon of Open MPI, nor the folder that all programs without one share.
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr && std::getenv("PMIX_RANK") == nullptr) {
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
  }
  without_leak_check([&] {
    int provided = 0;
    MPI_Init_thread(argument_count, arguments, is_one ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED, &provided);
  });
}

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int worst_of_ranks(int result) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> results(static_cast<std::size_t>(size));
  MPI_Allgather(&result, 1, MPI_INT, results.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::vector<int> failed;
  for (int other = 0; other < size; ++other) {
    if (results[static_cast<std::size_t>(other)] != 0) failed.push_back(other);
  }
  if (own_rank() == 0 && size > 1 && !failed.empty()) {
    fmt::print("[  FAILED  ] on rank{} {} of {}, which print their own failures\n",
               failed.size() == 1 ? "" : "s", fmt::join(failed, ", "), size);
    std::fflush(stdout);
  }
  return *std::max_element(results.begin(), results.end());
}

void end_ranks() {
  MPI_Finalize();
}

}  // namespace mylos::test
