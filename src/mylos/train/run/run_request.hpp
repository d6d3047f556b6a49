// RunRequest: what a user asks of a start of `mylos train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/config/deck.hpp"
#include "mylos/train/history/earlier_segment.hpp"
#include "mylos/train/history/progress.hpp"
#include "mylos/train/start/stop_requests.hpp"

namespace mylos {

struct RunRequest {
  Deck deck;
  std::string restart;                         // "", "auto", "latest" or a file
  std::int64_t stop_after = 0;                 // steps of this start; 0 = to the end
  std::string plan_file;                       // "" or a file that `mylos plan --json` wrote
  std::int64_t debug_tensors = 0;              // steps of this start before which rank 0 prints every tensor
  Output output;                               // of this rank
  StopSources stop;                            // deck and folder add theirs
  std::optional<EarlierSegment> earlier = {};  // of this start; `restart` is the checkpoint at its end
};

}  // namespace mylos
