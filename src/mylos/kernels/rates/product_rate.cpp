#include "mylos/kernels/rates/product_rate.hpp"

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
constexpr double long_product_s = 2e-3;
// Longer than the time slices in which ranks share too few cores.
constexpr double stretch_s = 0.025;

std::size_t matrix_bytes(DType type, std::int64_t extent) {
  return aligned_bytes(static_cast<std::size_t>(extent * extent) * size_of(type));
}

std::size_t product_bytes(const GemmEngine& gemm, DType type, std::int64_t extent) {
  return 3 * matrix_bytes(type, extent) + gemm.workspace_bytes(linear_output(extent, extent, extent, type));
}

class SquareProduct {
 public:
  SquareProduct(const Execution& execution, GemmEngine& gemm, DType type, std::int64_t extent,
                const std::function<double()>& clock)
      : execution_(execution),
        clock_(clock),
        gemm_(gemm),
        problem_(linear_output(extent, extent, extent, type)),
        matrix_(matrix_bytes(type, extent)),
        arena_("product to measure", product_bytes(gemm, type, extent)) {
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
    execution_.fence("measured product");
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

ProductStretches measure_product_stretches(const Execution& execution, GemmEngine& gemm, DType type,
                                           std::size_t max_bytes, const std::function<double()>& clock) {
  std::optional<SquareProduct> product;
  double once_s = 0;
  for (std::int64_t extent = first_extent; extent <= max_extent && once_s < long_product_s; extent *= 2) {
    if (product && product_bytes(gemm, type, extent) > max_bytes) break;
    product.emplace(execution, gemm, type, extent, clock);
    once_s = product->seconds_of(1);
  }
  const std::int64_t times = std::max<std::int64_t>(1, std::llround(stretch_s / once_s));
  const double flops = static_cast<double>(times) * product->flops();
  ProductStretches stretches;
  for (ProductStretch& stretch : stretches) {
    stretch.flops_per_s = flops / product->seconds_of(times);
    stretch.end_s = clock();
  }
  return stretches;
}

double measure_product_rate(const Execution& execution, GemmEngine& gemm, DType type, std::size_t max_bytes,
                            const std::function<double()>& clock) {
  std::vector<double> rates;
  for (const ProductStretch& stretch : measure_product_stretches(execution, gemm, type, max_bytes, clock))
    rates.push_back(stretch.flops_per_s);
  return median(std::move(rates));
}

}  // namespace mylos
