#include "mylos/train/history/run_speed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mylos/base/execution.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {

RunSpeed speed_of(const RunWork& work, double samples, double seconds) {
  RunSpeed speed;
  speed.samples_per_s = samples / seconds;
  speed.tokens_per_s = speed.samples_per_s * static_cast<double>(work.tokens_of_sample);
  speed.model_flops_per_s = speed.samples_per_s * work.sample.model;
  if (work.peak_flops > 0) speed.model_flop_utilisation = speed.model_flops_per_s / work.peak_flops;
  return speed;
}

RunSpeed speed_of_steps(RunWork& work, double samples, double seconds) {
  RunSpeed speed = speed_of(work, samples, seconds);
  if (!(speed.model_flop_utilisation > 1)) return speed;
  work.peak_is_exceeded = true;
  if (!work.peak_is_measured || !std::isfinite(speed.model_flops_per_s)) return speed;
  work.peak_flops = speed.model_flops_per_s;
  speed.model_flop_utilisation = 1;
  return speed;
}

double best_rate(std::span<const RateIntervals> ranks) {
  double first_end_s = std::numeric_limits<double>::infinity();
  for (const RateIntervals& rank : ranks) first_end_s = std::min(first_end_s, rank.back().end_s);
  double sum = 0;
  for (const RateIntervals& rank : ranks) {
    double best = rank.front().flops_per_s;
    for (const RateInterval& interval : rank)
      if (interval.end_s <= first_end_s) best = std::max(best, interval.flops_per_s);
    sum += best;
  }
  return sum;
}

double peak_flops_of(const RunOptions& run, DType compute, GemmEngine& gemm, RankGroup& ranks,
                     std::size_t max_bytes) {
  if (run.peak_flops > 0) return run.peak_flops * ranks.size();
  RateIntervals own;
  ranks.barrier();  // ranks of a node measure at the same time, as they share its cores and memory
  const double start_s = steady_seconds();
  run_on_all(ranks, [&] { own = measure_gemm_intervals(Execution{}, gemm, compute, max_bytes); });
  for (RateInterval& interval : own) interval.end_s -= start_s;  // clocks differ between nodes
  std::vector<RateIntervals> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  return best_rate(all);
}

}  // namespace mylos
