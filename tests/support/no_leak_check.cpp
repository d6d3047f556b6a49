// Builds without sanitizers look for no leaks.
#include <mpi.h>

#include "support/leak_check.hpp"

namespace mylos::test {

void start_mpi(int* argument_count, char*** arguments) {
  int provided = 0;
  MPI_Init_thread(argument_count, arguments, MPI_THREAD_SERIALIZED, &provided);
}

bool found_leaks() {
  return false;
}

}  // namespace mylos::test
