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

/// What one rank says of itself; ranks exchange it as it is.
struct RankPlace {
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
};
static_assert(std::is_trivially_copyable_v<RankPlace>);

/// Of all ranks, in their order.
using Placement = std::vector<RankPlace>;

/// This process, but for threads and its own device, which it has once Kokkos runs. All ranks call it.
[[nodiscard]] RankPlace place_of_process(RankGroup& ranks, const std::optional<DeviceSurvey>& survey);

/// What each rank brings, on all of them. All ranks call it.
[[nodiscard]] Placement gather(RankGroup& ranks, const RankPlace& own);

/// The cores that a rank may use, and with how many ranks of its node it shares exactly these.
struct CoreShare {
  int cores = 1;
  int ranks = 1;
};
[[nodiscard]] CoreShare core_share(const Placement& placement, int rank);

/// Which of the devices that a rank sees it takes: ranks of a node that see the same ones take them in turn.
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

/// In the order of their lowest ranks.
[[nodiscard]] std::vector<Node> nodes_of(const Placement& placement);

}  // namespace mylos::app
