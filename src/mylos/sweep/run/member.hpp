// Trains a member of a sweep to a rung: the same run as `mylos train` of the member's deck, on the ranks of a
// group.
#pragma once

#include <optional>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/sweep/run/heartbeat.hpp"
#include "mylos/sweep/run/sweep.hpp"
#include "mylos/sweep/run/sweep_stop.hpp"
#include "mylos/sweep/state/member_result.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/start/stop_requests.hpp"

namespace mylos {

struct MemberJob {
  std::size_t member = 0;
  std::size_t rung = 0;
  double earlier_s = 0;  // of the parts before
};

/// The ranks that train members together, and what they need besides the sweep.
struct SweepGroup {
  RankGroup& ranks;  // of the group
  NodeShare share;
  StopSources stop;  // of the process
  SweepStop& asked;  // on the group's first rank
  Heartbeat& all;    // ranks of the sweep
};

/// All ranks of the group. Returns the result on all of them; nothing if the member was asked to stop before.
/// A failure of the run is a result. Throws Error if the ranks can no longer exchange data.
[[nodiscard]] std::optional<MemberResult> train_member(const Sweep& sweep, const MemberJob& job,
                                                       SweepGroup& group);

}  // namespace mylos
