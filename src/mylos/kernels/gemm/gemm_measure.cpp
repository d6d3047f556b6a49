#include "mylos/kernels/gemm/gemm_measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/launch/noise.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

// On hosts, a round of all GEMMs computes at most max_flops, but no GEMM is reduced below
// min_flops_of_gemm. A device computes complete GEMMs, which take milliseconds; for smaller ones its
// library would recommend other algorithms.
constexpr double max_flops = 40e9;
constexpr double min_flops_of_gemm = 1e9;
// Rounds end after this many seconds per operation, within these bounds: GPT 6/6/384 takes half a second.
constexpr double seconds_per_flop = 0.05e-9;
constexpr double min_seconds = 0.2;
constexpr double max_seconds = 2.0;
constexpr int max_rounds = 30;
// An engine drops out if it takes this multiple of the other's best time over at least rounds_to_decide
// rounds. A single round may have been disturbed.
constexpr double clear_ratio = 1.3;
constexpr int rounds_to_decide = 3;
// Short GEMMs run this number of rounds regardless of the limit: a round is cheap, and a single preemption
// distorts its time.
constexpr double short_gemm_s = 1e-3;
constexpr int rounds_of_short_gemms = 8;

/// Returns a smaller problem that still shows which engine is faster: halves the largest extent until the
/// problem has at most `flops` operations.
GemmProblem part_of(GemmProblem problem, double flops) {
  while (flops_of(problem) > flops) {
    std::int64_t& largest = problem.m >= problem.n && problem.m >= problem.k ? problem.m
                            : problem.n >= problem.k                         ? problem.n
                                                                             : problem.k;
    largest = (largest + 1) / 2;
  }
  return problem;
}

std::size_t bytes_of(std::int64_t count, DType type) {
  return aligned_bytes(static_cast<std::size_t>(count) * size_of(type));
}

/// A GEMM for which the competing engines are measured alternately.
struct Contest {
  GemmProblem whole;
  GemmProblem part;
  std::vector<std::size_t> rivals = {};  // engines, each different for this GEMM
  std::vector<double> seconds = {};      // the best time of each engine
  int rounds = 0;
  bool decided = false;

  [[nodiscard]] int min_rounds() const {
    return seconds[winner()] < short_gemm_s ? rounds_of_short_gemms : 1;
  }
  [[nodiscard]] std::size_t winner() const {
    return static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
  }
};

/// The operands that all contests share.
class Operands {
 public:
  Operands(const Execution& execution, const std::vector<Contest>& contests,
           const std::vector<GemmEngine*>& rivals) {
    std::size_t result = 0;
    std::size_t row_sums = 0;
    std::size_t workspace = 0;
    for (const Contest& contest : contests) {
      const GemmProblem& part = contest.part;
      for (const DType type : {part.a, part.b, part.bias_type}) {
        if (std::find(types_.begin(), types_.end(), type) == types_.end()) types_.push_back(type);
      }
      noise_ = std::max({noise_, part.m * part.k, part.k * part.n, part.n});
      result = std::max(result, bytes_of(part.m * part.n, part.c));
      row_sums = std::max(row_sums, part.row_sums ? bytes_of(part.m, part.c) : 0);
      for (GemmEngine* engine : rivals) workspace = std::max(workspace, engine->workspace_bytes(part));
    }
    for (const DType type : types_) of_type_ += bytes_of(noise_, type);
    row_sums_ = 2 * of_type_ + aligned_bytes(result);
    workspace_ = row_sums_ + aligned_bytes(row_sums);
    arena_ = Arena("GEMMs to measure", workspace_ + aligned_bytes(workspace));
    for (const std::size_t copy : {std::size_t{0}, of_type_}) fill(execution, copy);
    execution.fence("operands to measure");
  }

  [[nodiscard]] GemmOperands of(const GemmProblem& part) const {
    const void* bias = part.bias ? at(of_type_ + offset_of(part.bias_type)) : nullptr;
    return {at(offset_of(part.a)), at(of_type_ + offset_of(part.b)), at(2 * of_type_), bias,
            part.row_sums ? at(row_sums_) : nullptr};
  }
  [[nodiscard]] void* workspace() const { return at(workspace_); }

 private:
  [[nodiscard]] std::byte* at(std::size_t offset) const { return arena_.data() + offset; }
  [[nodiscard]] std::size_t offset_of(DType type) const {
    std::size_t offset = 0;
    for (auto other = types_.begin(); *other != type; ++other) offset += bytes_of(noise_, *other);
    return offset;
  }
  void fill(const Execution& execution, std::size_t copy) const {
    for (const DType type : types_)
      fill_with_noise(execution, arena_.tensor(copy + offset_of(type), type, 1, noise_));
  }

  std::vector<DType> types_;   // of all operands
  std::int64_t noise_ = 1;     // elements of an operand
  std::size_t of_type_ = 0;    // bytes of one operand in each of the types
  std::size_t row_sums_ = 0;   // offset of the row sums
  std::size_t workspace_ = 0;  // offset of the workspace
  Arena arena_;
};

double seconds_of(const Execution& execution, GemmEngine& engine, const GemmProblem& part,
                  const Operands& operands) {
  const auto start = Clock::now();
  engine.run(execution, part, operands.of(part), operands.workspace());
  execution.fence("measured GEMM");
  return seconds_since(start);
}

/// Returns the engines that compute the GEMM in different ways: several may use the same algorithm.
std::vector<std::size_t> different_rivals(const GemmProblem& gemm, const std::vector<GemmEngine*>& rivals) {
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const auto is_same = [&](std::size_t other) {
      return rivals[other]->engine_of(gemm) == rivals[i]->engine_of(gemm);
    };
    if (std::none_of(different.begin(), different.end(), is_same)) different.push_back(i);
  }
  return different;
}

/// Returns the distinct GEMMs that more than one engine can compute, the largest first.
std::vector<Contest> contests_of(const std::vector<GemmProblem>& gemms,
                                 const std::vector<GemmEngine*>& rivals) {
  std::vector<Contest> contests;
  for (const GemmProblem& gemm : gemms) {
    const auto is_same = [&](const Contest& other) { return same_product(other.whole, gemm); };
    if (std::any_of(contests.begin(), contests.end(), is_same)) continue;
    std::vector<std::size_t> different = different_rivals(gemm, rivals);
    if (different.size() < 2) continue;
    contests.push_back({gemm, gemm, std::move(different)});
    contests.back().seconds.assign(rivals.size(), std::numeric_limits<double>::infinity());
  }
  const double share = max_flops / static_cast<double>(std::max<std::size_t>(1, contests.size()));
  for (Contest& contest : contests) {
    if constexpr (memory_is_host) contest.part = part_of(contest.whole, std::max(share, min_flops_of_gemm));
    // On hosts the sums are a small part of the time.
    contest.part.row_sums = !memory_is_host && contest.whole.row_sums;
  }
  std::stable_sort(contests.begin(), contests.end(), [](const Contest& one, const Contest& other) {
    return flops_of(one.part) > flops_of(other.part);
  });
  return contests;
}

void run_round(const Execution& execution, Contest& contest, const std::vector<GemmEngine*>& rivals,
               const Operands& operands) {
  for (const std::size_t i : contest.rivals) {
    const double seconds = seconds_of(execution, *rivals[i], contest.part, operands);
    contest.seconds[i] = std::min(contest.seconds[i], seconds);
  }
  const double best = contest.seconds[contest.winner()];
  if (++contest.rounds < std::max(rounds_to_decide, contest.min_rounds())) return;
  contest.decided = std::count_if(contest.seconds.begin(), contest.seconds.end(),
                                  [&](double seconds) { return seconds < clear_ratio * best; }) == 1;
}

}  // namespace

GemmMeasurement measure_gemms(const Execution& execution, GemmEngine& engine,
                              const std::vector<GemmProblem>& gemms) {
  const auto start = Clock::now();
  const std::vector<GemmEngine*> rivals = engine.alternatives();
  if (rivals.size() < 2) return {};
  std::vector<Contest> contests = contests_of(gemms, rivals);
  if (contests.empty()) return {};
  const Operands operands(execution, contests, rivals);
  const double flops =
      std::accumulate(contests.begin(), contests.end(), 0.0,
                      [](double sum, const Contest& contest) { return sum + flops_of(contest.part); });
  const double limit = std::clamp(seconds_per_flop * flops, min_seconds, max_seconds);
  for (const Contest& contest : contests) {  // a warm-up: engines create what they cache
    for (const std::size_t i : contest.rivals) seconds_of(execution, *rivals[i], contest.part, operands);
  }
  for (int round = 0; round < max_rounds; ++round) {
    for (Contest& contest : contests) {
      const bool has_time = seconds_since(start) < limit || round < contest.min_rounds();
      if (has_time && !contest.decided) run_round(execution, contest, rivals, operands);
    }
  }
  for (const Contest& contest : contests)
    engine.choose(contest.whole, rivals[contest.winner()]->engine_of(contest.whole));
  return {contests.size(), seconds_since(start)};
}

}  // namespace mylos
