// TouchedLevels: the levels that windows read.
#pragma once

#include <cstdint>

#include "mylos/data/arrays/layout/sample_layout.hpp"

namespace mylos {

/// Windows of one trajectory that follow each other touch levels [begin, end); differences are taken from
/// levels [newest, newest_end).
struct TouchedLevels {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t newest = 0;
  std::int64_t newest_end = 0;
};

/// Returns those of `count` windows, of which the first begins at level `begin`.
[[nodiscard]] inline TouchedLevels touched(const SampleLayout& layout, std::int64_t begin,
                                           std::int64_t count) {
  const RolloutLayout& rollout = layout.rollout;
  const std::int64_t last = begin + (count - 1) * layout.every;
  return {begin, last + layout.span, begin + rollout.history - 1,
          last + rollout.history + (rollout.steps - 1) * rollout.ahead};
}

}  // namespace mylos
