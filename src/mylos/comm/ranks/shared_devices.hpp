// Which ranks share a device.
#pragma once

#include <vector>

#include "mylos/base/device/devices.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// Every rank's device, by rank. All ranks call it.
[[nodiscard]] std::vector<DeviceId> devices_of_ranks(RankGroup& ranks);

/// How many ranks have the device of `rank`.
[[nodiscard]] int ranks_on_device(const std::vector<DeviceId>& of_ranks, int rank);

/// Throws Error (bad_input), the same on every rank, where two ranks share a device: NCCL forbids it.
void require_a_device_per_rank(const std::vector<DeviceId>& of_ranks);

}  // namespace mylos
