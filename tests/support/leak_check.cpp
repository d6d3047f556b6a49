// The leak check of builds with the address sanitizer.
#include "support/leak_check.hpp"

#include <mpi.h>
#include <sanitizer/lsan_interface.h>

namespace mylos::test {

void start_mpi(int* argument_count, char*** arguments) {
  __lsan_disable();
  int provided = 0;
  MPI_Init_thread(argument_count, arguments, MPI_THREAD_SERIALIZED, &provided);
  __lsan_enable();
}

bool found_leaks() {
  return __lsan_do_recoverable_leak_check() != 0;
}

}  // namespace mylos::test
