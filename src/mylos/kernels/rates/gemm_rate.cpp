#include "mylos/kernels/rates/gemm_rate.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/launch/noise.hpp"

namespace mylos {
namespace {

// GEMMs grow until one takes long enough to reach the processor's speed.
constexpr std::int64_t first_extent = 256;
constexpr std::int64_t max_extent = memory_is_host ? 2048 : 8192;
constexpr double long_gemm_s = 2e-3;
// Longer than the time slices in which ranks share too few cores.
constexpr double interval_s = 0.025;

std::size_t matrix_bytes(DType type, std::int64_t extent) {
  return aligned_bytes(static_cast<std::size_t>(extent * extent) * size_of(type));
}

std::size_t square_bytes(const GemmEngine& gemm, DType type, std::int64_t extent) {
  return 3 * matrix_bytes(type, extent) + gemm.workspace_bytes(linear_output(extent, extent, extent, type));
}

class SquareGemm {
 public:
  SquareGemm(const Execution& execution, GemmEngine& gemm, DType type, std::int64_t extent,
             const std::function<double()>& clock)
      : execution_(execution),
        clock_(clock),
        gemm_(gemm),
        problem_(linear_output(extent, extent, extent, type)),
        matrix_(matrix_bytes(type, extent)),
        arena_("GEMM to measure", square_bytes(gemm, type, extent)) {
    for (const std::size_t operand : {std::size_t{0}, matrix_})
      fill_with_noise(execution_, arena_.tensor(operand, type, extent, extent));
    seconds_of(1);  // a warm-up: the engine creates what it caches
  }

  double seconds_of(std::int64_t times) {
    const double start = clock_();
    std::byte* memory = arena_.data();
    for (std::int64_t i = 0; i < times; ++i) {
      gemm_.run(execution_, problem_, {memory, memory + matrix_, memory + 2 * matrix_}, memory + 3 * matrix_);
    }
    execution_.fence("measured GEMM");
    return clock_() - start;
  }

  [[nodiscard]] double flops() const { return flops_of(problem_); }

 private:
  const Execution& execution_;
  const std::function<double()>& clock_;
  GemmEngine& gemm_;
  GemmProblem problem_;
  std::size_t matrix_;  // bytes
  Arena arena_;
};

}  // namespace

RateIntervals measure_gemm_intervals(const Execution& execution, GemmEngine& gemm, DType type,
                                     std::size_t max_bytes, const std::function<double()>& clock) {
  std::optional<SquareGemm> square;
  double once_s = 0;
  for (std::int64_t extent = first_extent; extent <= max_extent && once_s < long_gemm_s; extent *= 2) {
    if (square && square_bytes(gemm, type, extent) > max_bytes) break;
    square.emplace(execution, gemm, type, extent, clock);
    once_s = square->seconds_of(1);
  }
  const std::int64_t times = std::max<std::int64_t>(1, std::llround(interval_s / once_s));
  const double flops = static_cast<double>(times) * square->flops();
  RateIntervals intervals;
  for (RateInterval& interval : intervals) {
    interval.flops_per_s = flops / square->seconds_of(times);
    interval.end_s = clock();
  }
  return intervals;
}

double measure_gemm_rate(const Execution& execution, GemmEngine& gemm, DType type, std::size_t max_bytes,
                         const std::function<double()>& clock) {
  std::vector<double> rates;
  for (const RateInterval& interval : measure_gemm_intervals(execution, gemm, type, max_bytes, clock))
    rates.push_back(interval.flops_per_s);
  return median(std::move(rates));
}

}  // namespace mylos
