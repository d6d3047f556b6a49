// [checkpoint]: when the state is written and how much of it is kept.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

/// What a checkpoint that cannot be written does to its run.
enum class OnError { stop, go_on };

struct CheckpointOptions {
  std::int64_t every = 500;     // steps; 0 = only at the end
  double every_minutes = 0;     // 0 = not by the clock
  std::int64_t keep_last = 2;   // newest files kept; 0 = all
  std::int64_t keep_every = 0;  // files whose step is a multiple of this are kept for good; 0 = none
  bool background = true;       // from a copy of the state, where the memory budget has room for it
  OnError on_error = OnError::stop;
  std::string keep_best = {};      // the metric whose best checkpoint is kept, "validation.loss"; "": none
  bool keep_last_regular = false;  // no key: keep_last counts those of `every` alone, too

  bool operator==(const CheckpointOptions&) const = default;
};

}  // namespace mylos
