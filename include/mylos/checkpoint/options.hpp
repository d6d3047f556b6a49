// [checkpoint]: when checkpoints are written and how many are kept.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

/// The reaction of a run to a checkpoint that cannot be written.
enum class OnError { stop, go_on };

/// [checkpoint]: when a run writes its state, and which files it keeps.
struct CheckpointOptions {
  std::int64_t every = 500;     // steps; 0 = only at the end
  double every_minutes = 0;     // 0 = not by time
  std::int64_t keep_last = 2;   // newest files kept; 0 = all
  std::int64_t keep_every = 0;  // files whose step is a multiple of this are always kept; 0 = none
  bool background = true;       // written asynchronously from a copy of the state if the memory budget allows
  OnError on_error = OnError::stop;  // if a checkpoint cannot be written; the last one must succeed
  std::string keep_best = {};        // the metric whose best checkpoint is kept, "validation.loss"; "": none
  bool keep_last_regular = false;    // not a deck key: keep_last also counts those of `every` separately

  bool operator==(const CheckpointOptions&) const = default;
};

}  // namespace mylos
