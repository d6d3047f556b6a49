#include "mylos/train/run/run_metrics.hpp"

#include <algorithm>
#include <vector>

#include "mylos/io/system/system_memory.hpp"

namespace mylos {

RankMetrics metrics_of_rank(const TimeParts& time) {
  return {.time = time,
          .host_bytes = resident_memory(),
          .host_peak_bytes = peak_resident_memory(),
          .device_bytes = used_device_memory().value_or(0)};
}

RunMetrics gather_metrics(const Quiesced& /*quiet*/, RankGroup& ranks, const RankMetrics& own) {
  std::vector<RankMetrics> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  RunMetrics run;
  run.fastest = run.slowest = {0, all[0].time.compute_s};
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const RankMetrics& one = all[static_cast<std::size_t>(rank)];
    for_each_part(
        [&](const char*, const char*, auto field) { run.time.*field += one.time.*field / ranks.size(); });
    const RunMetrics::Pace pace{rank, one.time.compute_s};
    if (pace.compute_s < run.fastest.compute_s) run.fastest = pace;
    if (pace.compute_s > run.slowest.compute_s) run.slowest = pace;
    run.host_bytes = std::max(run.host_bytes, one.host_bytes);
    run.host_peak_bytes = std::max(run.host_peak_bytes, one.host_peak_bytes);
    run.device_bytes = std::max(run.device_bytes, one.device_bytes);
    run.exchanged.bytes = std::max(run.exchanged.bytes, one.exchanged.bytes);
    run.exchanged.messages = std::max(run.exchanged.messages, one.exchanged.messages);
  }
  return run;
}

}  // namespace mylos
