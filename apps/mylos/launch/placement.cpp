#include "launch/placement.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "mylos/base/numbers/hash.hpp"
#include "mylos/io/system/control_group.hpp"

namespace mylos::app {

RankPlacement placement_of_process(RankGroup& ranks, const std::optional<DeviceSurvey>& survey) {
  RankPlacement placement;
  gethostname(placement.node, sizeof placement.node - 1);
  placement.node_first = ranks.node_position().first;
  placement.bound = bound_cores();
  placement.occupied = with_siblings(placement.bound);
  placement.usable = usable_cores() | placement.bound;
  placement.quota = quota_cores();
  if (!survey) return placement;
  placement.devices = static_cast<int>(survey->devices.size());
  std::string ids;
  for (const FoundDevice& device : survey->devices) ids.append(device.id.begin(), device.id.end());
  placement.visible_devices = hash_bytes(ids);
  return placement;
}

Placement gather(RankGroup& ranks, const RankPlacement& own) {
  Placement placement(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, placement.data(), sizeof own);
  return placement;
}

CoreShare core_share(const Placement& placement, int rank) {
  const RankPlacement& own = placement[static_cast<std::size_t>(rank)];
  const auto count = [&](const auto& shares) {
    return static_cast<int>(std::count_if(
        placement.begin(), placement.end(),
        [&](const RankPlacement& other) { return other.node_first == own.node_first && shares(other); }));
  };
  return {.cores = std::max(1, static_cast<int>(own.bound.count())),
          .ranks = count([&](const RankPlacement& other) { return other.bound == own.bound; }),
          .quota = own.quota,
          .ranks_of_quota = count([](const RankPlacement& other) { return other.quota > 0; })};
}

int device_of(const Placement& placement, int rank) {
  const RankPlacement& own = placement[static_cast<std::size_t>(rank)];
  const auto before =
      std::count_if(placement.begin(), placement.begin() + rank, [&](const RankPlacement& other) {
        return other.node_first == own.node_first && other.visible_devices == own.visible_devices;
      });
  return static_cast<int>(before) % std::max(1, own.devices);
}

std::vector<Node> nodes_of(const Placement& placement) {
  std::map<int, Node> nodes;
  std::map<int, std::set<DeviceId>> devices;
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const RankPlacement& own = placement[rank];
    Node& node = nodes[own.node_first];
    node.name = own.node;
    node.ranks.push_back(static_cast<int>(rank));
    node.usable |= own.usable;
    node.bound |= own.bound;
    node.occupied |= own.occupied;
    node.devices = std::max(node.devices, own.devices);
    if (own.devices > 0) devices[own.node_first].insert(own.device);
    node.devices_in_use = static_cast<int>(devices[own.node_first].size());
  }
  std::vector<Node> list;
  for (auto& [first, node] : nodes) list.push_back(std::move(node));
  return list;
}

}  // namespace mylos::app
