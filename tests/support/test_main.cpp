// main() of every test program: starts MPI and Kokkos, and keeps all ranks but the first quiet while tests pass.
#include <gtest/gtest.h>
#include <mpi.h>

#include <Kokkos_Core.hpp>

int main(int argument_count, char** arguments) {
  testing::InitGoogleTest(&argument_count, arguments);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();  // discovery needs neither MPI nor a device
  int provided = 0;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_SERIALIZED, &provided);
  int result = 0;
  {
    const Kokkos::ScopeGuard guard(argument_count, arguments);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) delete listeners.Release(listeners.default_result_printer());
    result = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return result;
}
