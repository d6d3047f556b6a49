// [checkpoint]: when the state is written and how much of it is kept.
#pragma once

#include <cstdint>

namespace mylos {

struct CheckpointOptions {
  std::int64_t every = 500;     // steps; 0 = only at the end
  std::int64_t keep_last = 2;   // newest files kept; 0 = all
  std::int64_t keep_every = 0;  // files whose step is a multiple of this are kept for good; 0 = none

  bool operator==(const CheckpointOptions&) const = default;
};

}  // namespace mylos
