// Rates by a clock and an engine whose speeds are known.
#include "mylos/kernels/rates/machine_rates.hpp"

#include <gtest/gtest.h>

#include "mylos/base/execution.hpp"
#include "mylos/kernels/gemm/gemm_support.hpp"
#include "mylos/kernels/rates/stream_rate.hpp"

namespace mylos::machine_rates_test {

constexpr std::size_t plenty = std::size_t{1} << 40;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Computes nothing, and advances its clock by the time that the GEMM would take.
class TwoSpeeds final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "two speeds"; }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 0; }
  void run(const Execution&, const GemmProblem& problem, const GemmOperands&, void*) override {
    now_s += flops_of(problem) / (problem.a == DType::fp32 ? 1e11 : 3e11);
  }
  double now_s = 0;
};

TEST(MachineRates, AreMeasuredForTheTypesAskedForAndForMemory) {
  TwoSpeeds engine;
  const auto clock = [&] { return engine.now_s += 1e-9; };  // anything else takes a nanosecond
  const MachineRates rates = measure_rates(Execution{}, engine, {DType::fp32, DType::bf16}, plenty, clock);
  EXPECT_NEAR(rates.flops_in(DType::fp32), 1e8, 1e3);
  EXPECT_NEAR(rates.flops_in(DType::bf16), 3e8, 1e3);
  EXPECT_EQ(rates.flops_in(DType::fp16), fixed_rates().flops_in(DType::fp16)) << "nobody asked";
  EXPECT_GT(rates.bytes, 1e9);
}

TEST(MachineRates, OfMemoryCountTwoReadsAndAWriteOfTheMedianPass) {
  // Of ten passes the first is not counted, and three others are slowed by other programs.
  const std::vector<double> passes_s = {9, 0.5, 0.5, 4, 0.5, 0.5, 4, 0.5, 4, 0.5};
  double now_s = 0;
  std::size_t calls = 0;
  const auto clock = [&] {
    if (calls % 2 == 1) now_s += passes_s.at(calls / 2);
    ++calls;
    return now_s;
  };
  EXPECT_DOUBLE_EQ(measure_stream_rate(Execution{}, 4 * mebibyte, clock), 3 * 2.0 * mebibyte / 0.5);
  EXPECT_EQ(calls, 2 * passes_s.size());
}

TEST(MachineRates, OfThisMachineAreNumbers) {
  const auto engine = make_gemm_engine({});
  const MachineRates rates = measure_rates(Execution{}, *engine, {DType::bf16}, plenty);
  EXPECT_GT(rates.flops_in(DType::bf16), 1e3);
  EXPECT_GT(rates.bytes, 1e3);
  EXPECT_LT(rates.bytes, 1e12);
}

TEST(MachineRates, AreFixedByWhatTheProcessorMultipliesNatively) {
  const MachineRates rates = fixed_rates();
  EXPECT_EQ(rates, fixed_rates());
  for (const DType type : {DType::bf16, DType::fp16}) {
    const bool native = gemm_support(type).native.value_or(!memory_is_host);
    EXPECT_EQ(rates.flops_in(type) > rates.flops_in(DType::fp32), native) << name_of(type);
    EXPECT_GE(rates.flops_in(type), rates.flops_in(DType::fp32)) << name_of(type);
  }
}

TEST(MachineRates, AreToldWithTheTypesThatAreUsed) {
  const MachineRates rates{.fp32_flops = 1e8, .bf16_flops = 2.5e8, .fp16_flops = 1, .bytes = 3e7};
  EXPECT_EQ(describe({rates, {DType::fp32, DType::bf16}, true}),
            "GEMMs at 100 GFLOP/s in fp32, 250 GFLOP/s in bf16, memory at 30 GB/s, measured here and now");
}

TEST(MachineRates, OfANamedDeviceAreToldAsItsPeaks) {
  const MachineRates rates{.fp32_flops = 1.95e10, .bf16_flops = 3.12e11, .fp16_flops = 1, .bytes = 2e9};
  EXPECT_EQ(describe({rates, {DType::fp32, DType::bf16}, false, "some device"}),
            "GEMMs at 19.5 TFLOP/s in fp32, 312.0 TFLOP/s in bf16, memory at 2000 GB/s, the peaks of some "
            "device");
}

}  // namespace mylos::machine_rates_test
