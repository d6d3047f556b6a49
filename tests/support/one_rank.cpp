// Builds without MPI.
#include "support/ranks.hpp"

namespace mylos::test {

void start_ranks(int*, char***) {}

int own_rank() {
  return 0;
}

int worst_of_ranks(int result) {
  return result;
}

void end_ranks() {}

}  // namespace mylos::test
