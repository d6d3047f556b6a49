#include "launch/placement.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "mylos/base/numbers/hash.hpp"
#include "mylos/io/system/control_group.hpp"

namespace mylos::app {

RankPlace place_of_process(RankGroup& ranks, const std::optional<DeviceSurvey>& survey) {
  RankPlace place;
  gethostname(place.node, sizeof place.node - 1);
  place.node_first = ranks.node_place().first;
  place.bound = bound_cores();
  place.occupied = with_siblings(place.bound);
  place.usable = usable_cores() | place.bound;
  place.quota = quota_cores();
  if (!survey) return place;
  place.devices = static_cast<int>(survey->devices.size());
  std::string ids;
  for (const FoundDevice& device : survey->devices) ids.append(device.id.begin(), device.id.end());
  place.visible_devices = hash_bytes(ids);
  return place;
}

Placement gather(RankGroup& ranks, const RankPlace& own) {
  Placement placement(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, placement.data(), sizeof own);
  return placement;
}

CoreShare core_share(const Placement& placement, int rank) {
  const RankPlace& own = placement[static_cast<std::size_t>(rank)];
  const auto count = [&](const auto& shares) {
    return static_cast<int>(std::count_if(placement.begin(), placement.end(), [&](const RankPlace& other) {
      return other.node_first == own.node_first && shares(other);
    }));
  };
  return {.cores = std::max(1, static_cast<int>(own.bound.count())),
          .ranks = count([&](const RankPlace& other) { return other.bound == own.bound; }),
          .quota = own.quota,
          .ranks_of_quota = count([](const RankPlace& other) { return other.quota > 0; })};
}

int device_of(const Placement& placement, int rank) {
  const RankPlace& own = placement[static_cast<std::size_t>(rank)];
  const auto before = std::count_if(placement.begin(), placement.begin() + rank, [&](const RankPlace& other) {
    return other.node_first == own.node_first && other.visible_devices == own.visible_devices;
  });
  return static_cast<int>(before) % std::max(1, own.devices);
}

std::vector<Node> nodes_of(const Placement& placement) {
  std::map<int, Node> nodes;
  std::map<int, std::set<DeviceId>> devices;
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const RankPlace& place = placement[rank];
    Node& node = nodes[place.node_first];
    node.name = place.node;
    node.ranks.push_back(static_cast<int>(rank));
    node.usable |= place.usable;
    node.bound |= place.bound;
    node.occupied |= place.occupied;
    node.devices = std::max(node.devices, place.devices);
    if (place.devices > 0) devices[place.node_first].insert(place.device);
    node.devices_in_use = static_cast<int>(devices[place.node_first].size());
  }
  std::vector<Node> list;
  for (auto& [first, node] : nodes) list.push_back(std::move(node));
  return list;
}

}  // namespace mylos::app
