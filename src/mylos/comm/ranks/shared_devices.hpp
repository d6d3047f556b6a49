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

/// Throws Error (bad_input) on every rank if two ranks share a device: NCCL forbids it.
void require_a_device_per_rank(const std::vector<DeviceId>& of_ranks);

}  // namespace mylos
