#include "mylos/train/history/ranks_energy.hpp"

#include <algorithm>
#include <limits>

#include "mylos/base/memory_is_host.hpp"
#include "mylos/comm/ranks/shared_devices.hpp"

namespace mylos {
namespace {

/// Returns whether this rank is the first one on its device. All ranks must call it, including ranks that
/// count nothing.
bool is_first_on_device(RankGroup& ranks) {
  if (memory_is_host) return false;
  const std::vector<DeviceId> devices = devices_of_ranks(ranks);
  const auto own = devices.begin() + ranks.rank();
  return std::find(devices.begin(), own, *own) == own;
}

}  // namespace

RanksEnergy::RanksEnergy(RankGroup& ranks) {
  const bool node = ranks.node_position().index == 0;
  const bool device = is_first_on_device(ranks);
  if (node || device) counter_.emplace(node ? default_powercap : "", device);
}

double RanksEnergy::joules() {
  return counter_ ? counter_->joules().value_or(std::numeric_limits<double>::quiet_NaN()) : 0;
}

}  // namespace mylos
