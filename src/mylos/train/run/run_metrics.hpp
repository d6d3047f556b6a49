// RunMetrics: where the time and the memory of a start went, over all its ranks (docs/metrics.md).
#pragma once

#include <cstdint>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/train/history/run_clock.hpp"

namespace mylos {

/// Of one rank.
struct RankMetrics {
  TimeParts time = {};
  std::int64_t host_bytes = 0;       // in memory now
  std::int64_t host_peak_bytes = 0;  // the most that ever were
  std::int64_t device_bytes = 0;     // of its device, by all processes; 0 where memory is the host's
};

/// Of this rank, now.
[[nodiscard]] RankMetrics metrics_of_rank(const TimeParts& time);

struct RunMetrics {
  struct Pace {
    int rank = 0;
    double compute_s = 0;
  };
  TimeParts time = {};  // mean over ranks
  Pace fastest = {};    // the least compute_s
  Pace slowest = {};    // the most
  // The most of a rank.
  std::int64_t host_bytes = 0;
  std::int64_t host_peak_bytes = 0;
  std::int64_t device_bytes = 0;
};

/// All ranks call it and get the same.
[[nodiscard]] RunMetrics gather_metrics(RankGroup& ranks, const RankMetrics& own);

}  // namespace mylos
