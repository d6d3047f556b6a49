#include "mylos/comm/ranks/shared_devices.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"

namespace mylos {
namespace {

template <class Value>
std::vector<Value> of_all_ranks(RankGroup& ranks, const Value& own) {
  std::vector<Value> all(static_cast<std::size_t>(ranks.size()), own);
  ranks.all_gather(&own, all.data(), sizeof(own));
  return all;
}

/// Returns the first two ranks of equal values.
template <class Value>
std::optional<std::pair<std::ptrdiff_t, std::ptrdiff_t>> equal_ranks(const std::vector<Value>& of_ranks) {
  for (auto rank = of_ranks.begin(); rank != of_ranks.end(); ++rank) {
    const auto first = std::find(of_ranks.begin(), rank, *rank);
    if (first != rank) return std::pair{first - of_ranks.begin(), rank - of_ranks.begin()};
  }
  return std::nullopt;
}

}  // namespace

std::vector<DeviceId> devices_of_ranks(RankGroup& ranks) {
  return of_all_ranks(ranks, own_device());
}

std::vector<GpuOfRank> gpus_of_ranks(RankGroup& ranks) {
  return of_all_ranks(ranks, GpuOfRank{ranks.node_position().first, own_gpu()});
}

int ranks_on_device(const std::vector<DeviceId>& of_ranks, int rank) {
  return static_cast<int>(
      std::count(of_ranks.begin(), of_ranks.end(), of_ranks[static_cast<std::size_t>(rank)]));
}

void require_a_gpu_per_rank(const std::vector<DeviceId>& devices, const std::vector<GpuOfRank>& gpus) {
  if (const auto ranks = equal_ranks(devices)) {
    const std::size_t count = std::set<DeviceId>(devices.begin(), devices.end()).size();
    fail_input(
        errors::device_shared,
        "ranks {} and {} share a device, which NCCL does not allow: {} ranks have {} device{} in all. Start "
        "one rank per device, with each node's devices visible to its ranks, or set "
        "communication.backend = \"mpi\" (NCCL 2.30.3 and newer allow it with NCCL_MULTI_RANK_GPU_ENABLE=1)",
        ranks->first, ranks->second, devices.size(), count, count == 1 ? "" : "s");
  }
  if (const auto ranks = equal_ranks(gpus)) {
    fail_input(
        errors::device_shared,
        "ranks {} and {} have instances (MIG) of one GPU, between which NCCL does not communicate. Start one "
        "rank per GPU, or set communication.backend = \"mpi\"",
        ranks->first, ranks->second);
  }
}

}  // namespace mylos
