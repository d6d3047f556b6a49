#include "mylos/base/device/parallel_region.hpp"

#include <omp.h>

#include "mylos/base/error.hpp"

namespace mylos {

void require_outside_parallel_region(const char* call) {
  const int level = omp_get_level();  // regions of one thread count too, as in Kokkos
  if (level == 0) return;
  fail_run(
      ErrorId::bad_call,
      "{} was called inside an OpenMP parallel region (level {}), where Kokkos cannot start kernels; call it "
      "outside of it, with the samples of all threads",
      call, level);
}

}  // namespace mylos
