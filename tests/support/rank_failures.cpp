#include "support/rank_failures.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace mylos::test {
namespace {

/// In one piece: other ranks print too.
void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

void RankFailures::OnTestStart(const testing::TestInfo& test) {
  running_ = fmt::format("{}.{}", test.test_suite_name(), test.name());
}

void RankFailures::OnTestPartResult(const testing::TestPartResult& result) {
  if (!result.failed()) return;
  const std::string place = result.file_name() == nullptr
                                ? "unknown file"
                                : fmt::format("{}:{}", result.file_name(), result.line_number());
  print(fmt::format("{}: Failure on rank {}{}{}\n{}\n", place, rank_, running_.empty() ? "" : ", in ",
                    running_, result.message()));
}

void RankFailures::OnTestEnd(const testing::TestInfo& test) {
  if (test.result()->Failed()) print(fmt::format("[  FAILED  ] {} on rank {}\n", running_, rank_));
  running_.clear();
}

int worst_of_ranks(int result) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> results(static_cast<std::size_t>(size));
  MPI_Allgather(&result, 1, MPI_INT, results.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::vector<int> failed;
  for (int other = 0; other < size; ++other) {
    if (results[static_cast<std::size_t>(other)] != 0) failed.push_back(other);
  }
  if (rank == 0 && size > 1 && !failed.empty()) {
    print(fmt::format("[  FAILED  ] on rank{} {} of {}, which print their own failures\n",
                      failed.size() == 1 ? "" : "s", fmt::join(failed, ", "), size));
  }
  return *std::max_element(results.begin(), results.end());
}

}  // namespace mylos::test
