#include "mylos/kernels/rates/stream_rate.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

constexpr std::size_t min_total = std::size_t{1} << 20;
constexpr std::size_t usual_total = std::size_t{memory_is_host ? 256 : 1024} << 20;
constexpr int passes = 9;

}  // namespace

double measure_stream_rate(const Execution& execution, std::size_t max_bytes,
                           const std::function<double()>& clock) {
  const std::size_t array =
      std::clamp(max_bytes, min_total, usual_total) / 2 / arena_alignment * arena_alignment;
  const Arena arrays("streams to measure", 2 * array);
  const auto count = static_cast<std::int64_t>(array / sizeof(float));
  float* sum = arrays.tensor(0, DType::fp32, 1, count).as<float>();
  const float* term = arrays.tensor(array, DType::fp32, 1, count).as<float>();
  const auto pass_s = [&] {
    const double start = clock();
    for_each_element(
        execution, "triad", count, KOKKOS_LAMBDA(const std::int64_t i) { sum[i] += 0.5f * term[i]; });
    execution.fence("measured stream");
    return clock() - start;
  };
  pass_s();  // touches every page once
  std::vector<double> seconds;
  for (int i = 0; i < passes; ++i) seconds.push_back(pass_s());
  return 3 * static_cast<double>(array) / median(std::move(seconds));
}

}  // namespace mylos
