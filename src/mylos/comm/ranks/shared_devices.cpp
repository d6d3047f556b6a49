#include "mylos/comm/ranks/shared_devices.hpp"

#include <algorithm>
#include <set>

#include "mylos/base/error.hpp"

namespace mylos {

std::vector<DeviceId> devices_of_ranks(RankGroup& ranks) {
  const DeviceId own = own_device();
  std::vector<DeviceId> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof(own));
  return all;
}

int ranks_on_device(const std::vector<DeviceId>& of_ranks, int rank) {
  return static_cast<int>(
      std::count(of_ranks.begin(), of_ranks.end(), of_ranks[static_cast<std::size_t>(rank)]));
}

void require_a_device_per_rank(const std::vector<DeviceId>& of_ranks) {
  const std::size_t devices = std::set<DeviceId>(of_ranks.begin(), of_ranks.end()).size();
  if (devices == of_ranks.size()) return;
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
    const auto first = std::find(of_ranks.begin(), of_ranks.end(), of_ranks[rank]) - of_ranks.begin();
    if (static_cast<std::size_t>(first) == rank) continue;
    fail_input(
        ErrorId::device_shared,
        "ranks {} and {} share a device, which NCCL does not allow: {} ranks have {} device{} in all. Start "
        "one rank per device, with each node's devices visible to its ranks, or set "
        "communication.backend = \"mpi\" (NCCL 2.30.3 and newer allow it with NCCL_MULTI_RANK_GPU_ENABLE=1)",
        first, rank, of_ranks.size(), devices, devices == 1 ? "" : "s");
  }
}

}  // namespace mylos
