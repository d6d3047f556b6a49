// Finds ranks that share a device.
#pragma once

#include <vector>

#include "mylos/base/device/devices.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Returns the device of every rank, in rank order. All ranks call it.
[[nodiscard]] std::vector<DeviceId> devices_of_ranks(RankGroup& ranks);

/// Returns the number of ranks that use the device of `rank`.
[[nodiscard]] int ranks_on_device(const std::vector<DeviceId>& of_ranks, int rank);

/// The GPU of a rank.
struct GpuOfRank {
  std::int32_t node = 0;  // its first rank
  PciAddress address{};
  bool operator==(const GpuOfRank&) const = default;
};

/// Returns the GPU of every rank, in rank order. All ranks call it.
[[nodiscard]] std::vector<GpuOfRank> gpus_of_ranks(RankGroup& ranks);

/// Throws Error (bad_input) on every rank if two ranks share a device, or have instances (MIG) of one GPU:
/// NCCL forbids both.
void require_a_gpu_per_rank(const std::vector<DeviceId>& devices, const std::vector<GpuOfRank>& gpus);

}  // namespace mylos
