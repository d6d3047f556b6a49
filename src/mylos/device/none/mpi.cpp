#include "mylos/base/execution.hpp"
#include "mylos/comm/group/gpu_aware_mpi.hpp"

namespace mylos {

bool mpi_takes_device_memory() {
  return memory_is_host;
}

}  // namespace mylos
