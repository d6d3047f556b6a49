// Where each rank runs: its node, cores, threads and device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "launch/core_set.hpp"
#include "mylos/base/device/devices.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos::app {

/// The placement of one rank; ranks exchange it as bytes.
struct RankPlacement {
  char node[64] = {};  // the node's name, ended by 0
  int node_first = 0;  // the lowest rank there, which stands for the node
  CoreSet bound;       // cores that this rank may use
  CoreSet occupied;    // these, and the other hardware threads of the same cores
  CoreSet usable;      // cores that it could be bound to there
  int threads = 0;
  bool chosen_threads = false;        // from its cores: neither deck nor environment asked for a number
  int devices = 0;                    // that it sees
  std::uint64_t visible_devices = 0;  // a hash of which they are
  DeviceId device{};                  // its own
  int quota = 0;  // cores that its control group may keep busy (a container's limit); 0: no limit
};
static_assert(std::is_trivially_copyable_v<RankPlacement>);

/// The placements of all ranks, in their order.
using Placement = std::vector<RankPlacement>;

/// The placement of this process without threads and device, which Kokkos sets later. All ranks call it.
[[nodiscard]] RankPlacement placement_of_process(RankGroup& ranks, const std::optional<DeviceSurvey>& survey);

/// Gathers the placements of all ranks on every rank. All ranks call it.
[[nodiscard]] Placement gather(RankGroup& ranks, const RankPlacement& own);

/// The cores that a rank may use, and the number of ranks of its node that may use exactly the same cores;
/// the cores of its quota, and the number of ranks of its node, which share it.
struct CoreShare {
  int cores = 1;
  int ranks = 1;
  int quota = 0;  // no limit
  int ranks_of_quota = 1;
};
[[nodiscard]] CoreShare core_share(const Placement& placement, int rank);

/// The index of a rank's device among its visible ones: ranks of a node that see the same devices use them in
/// order.
[[nodiscard]] int device_of(const Placement& placement, int rank);

struct Node {
  std::string name;
  std::vector<int> ranks;  // in their order
  CoreSet usable;          // cores that its ranks could be bound to
  CoreSet bound;           // cores that some rank may use
  CoreSet occupied;        // these, and the other hardware threads of the same cores
  int devices = 0;         // most that one of its ranks sees
  int devices_in_use = 0;  // different ones
};

/// Sorted by their lowest ranks.
[[nodiscard]] std::vector<Node> nodes_of(const Placement& placement);

}  // namespace mylos::app
