#include "mylos/train/run_speed.hpp"

#include <numeric>
#include <vector>

#include "mylos/comm/collective_error.hpp"
#include "mylos/kernels/product_rate.hpp"
#include "mylos/train/assembly.hpp"

namespace mylos {

RunSpeed speed_of(const RunWork& work, double samples, double seconds) {
  RunSpeed speed;
  speed.samples_per_s = samples / seconds;
  speed.tokens_per_s = speed.samples_per_s * static_cast<double>(work.tokens_of_sample);
  speed.model_flops_per_s = speed.samples_per_s * work.sample.model;
  if (work.peak_flops > 0) speed.model_flop_utilisation = speed.model_flops_per_s / work.peak_flops;
  return speed;
}

double peak_flops_of(const RunOptions& run, DType compute, GemmEngine& gemm, RankGroup& ranks,
                     std::size_t most_bytes) {
  if (run.peak_flops > 0) return run.peak_flops * ranks.size();
  double own = 0;
  ranks.barrier();  // those that share a node share its cores and memory while they are measured
  run_on_all(ranks, [&] { own = measure_product_rate(Execution{}, gemm, compute, most_bytes); });
  std::vector<double> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

RunWork work_of(const Assembly& parts, double peak_flops) {
  const Chain& chain = parts.trainer->model().chain();
  const bool has_tokens = parts.options.model.type == ModelType::gpt;
  return {.tokens_of_sample = has_tokens ? chain.rows_per_sample : 0,
          .sample = flops_of_sample(chain, *parts.gemm, parts.memory.plan.schedule),
          .peak_flops = peak_flops};
}

}  // namespace mylos
