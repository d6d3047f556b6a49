// RunMetrics: the use of time and memory by a start, over all its ranks (docs/reference/metrics.md).
#pragma once

#include <cstdint>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/optim/gradients/sample_exchange.hpp"
#include "mylos/train/history/run_clock.hpp"
#include "mylos/train/step/quiesced.hpp"

namespace mylos {

/// The metrics of one rank.
struct RankMetrics {
  TimeParts time = {};
  std::int64_t host_bytes = 0;       // resident now
  std::int64_t host_peak_bytes = 0;  // the highest so far
  std::int64_t device_bytes = 0;     // used on its device by all processes; 0 if memory is the host's
  SampleTraffic exchanged = {};      // sent to the ranks that share its samples, evaluations included
};

/// Returns the metrics of this rank now.
[[nodiscard]] RankMetrics metrics_of_rank(const TimeParts& time);

struct RunMetrics {
  struct Pace {
    int rank = 0;
    double compute_s = 0;
  };
  TimeParts time = {};  // mean over ranks
  Pace fastest = {};    // the smallest compute_s
  Pace slowest = {};    // the largest
  // The maximum over ranks.
  std::int64_t host_bytes = 0;
  std::int64_t host_peak_bytes = 0;
  std::int64_t device_bytes = 0;
  SampleTraffic exchanged = {};
};

/// All ranks. Returns the same on every rank.
[[nodiscard]] RunMetrics gather_metrics(const Quiesced& quiet, RankGroup& ranks, const RankMetrics& own);

}  // namespace mylos
