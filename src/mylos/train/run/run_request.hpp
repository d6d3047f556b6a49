// RunRequest: what a start of a run is asked for: by a user of `mylos train`, or by a sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/config/deck.hpp"
#include "mylos/train/history/earlier_segment.hpp"
#include "mylos/train/history/progress.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/start/stop_requests.hpp"

namespace mylos {

struct RunRequest {
  Deck deck;
  std::string restart;             // "", "auto", "latest" or a file
  std::int64_t stop_after = 0;     // steps of this start; 0 = to the end
  std::int64_t stop_at = 0;        // step of the run at which it is evaluated and stops; 0 = its end
  bool evaluates_at_stop = false;  // also where it is asked to stop
  std::string plan_file;           // "" or a file that `mylos plan --json` wrote
  std::int64_t debug_tensors = 0;  // steps of this start before which rank 0 prints every tensor
  Output output;                   // of this rank
  StopSources stop;                // deck and folder add theirs
  std::optional<NodeShare> node_share = {};    // where other runs use the same nodes
  std::optional<EarlierSegment> earlier = {};  // of this start; `restart` is the checkpoint at its end
};

}  // namespace mylos
