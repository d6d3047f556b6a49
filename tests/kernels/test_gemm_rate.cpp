// The rate of an engine whose speed is known.
#include "mylos/kernels/rates/gemm_rate.hpp"

#include <gtest/gtest.h>

#include "mylos/base/execution.hpp"

namespace mylos::gemm_rate_test {

constexpr std::size_t plenty = std::size_t{1} << 30;

/// Computes nothing, and advances its own clock.
class SlowEngine final : public GemmEngine {
 public:
  explicit SlowEngine(double flops_per_s) : flops_per_s_(flops_per_s) {}
  [[nodiscard]] std::string_view name() const override { return "slow"; }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 64; }
  void run(const Execution&, const GemmProblem& problem, const GemmOperands&, void*) override {
    problems.push_back(problem);
    const bool hurries = now_s_ >= hurry_from_s_ && now_s_ < hurry_to_s_;
    now_s_ += flops_of(problem) / (hurries ? 4 * flops_per_s_ : flops_per_s_);
  }
  /// Makes it four times as fast between these seconds of its clock.
  void hurry(double from_s, double to_s) {
    hurry_from_s_ = from_s;
    hurry_to_s_ = to_s;
  }
  double measured_rate(DType type, std::size_t max_bytes = plenty) {
    return measure_gemm_rate(Execution{}, *this, type, max_bytes, [this] { return now_s_; });
  }
  RateIntervals measured_intervals(DType type) {
    return measure_gemm_intervals(Execution{}, *this, type, plenty, [this] { return now_s_; });
  }
  std::vector<GemmProblem> problems;

 private:
  double flops_per_s_;
  double now_s_ = 0;
  double hurry_from_s_ = 0;
  double hurry_to_s_ = 0;
};

TEST(GemmRate, IsThatOfTheEngine) {
  SlowEngine engine(1e10);
  EXPECT_NEAR(engine.measured_rate(DType::bf16), 1e10, 1e3);
  for (const GemmProblem& problem : engine.problems) EXPECT_EQ(problem.a, DType::bf16);
}

TEST(GemmRate, IsOfALargerGemmWhereTheEngineIsFaster) {
  SlowEngine slow(1e10);  // 256 cubed takes 3.4 ms
  SlowEngine fast(1e12);
  EXPECT_NEAR(slow.measured_rate(DType::fp32), 1e10, 1e3);
  EXPECT_NEAR(fast.measured_rate(DType::fp32), 1e12, 1e5);
  EXPECT_EQ(slow.problems.back().m, 256);
  EXPECT_EQ(fast.problems.back().m, 1024);
  EXPECT_EQ(fast.problems.back().m, fast.problems.back().k);
}

/// The cores are not shared while other ranks have not started or have finished.
TEST(GemmRate, IsNotThatOfAnIntervalInWhichTheCoresWereItsOwn) {
  for (const double from_s : {0.03, 0.06, 0.08}) {
    SlowEngine engine(1e10);
    engine.hurry(from_s, from_s + 0.005);
    EXPECT_NEAR(engine.measured_rate(DType::fp32), 1e10, 1e3) << from_s;
  }
}

/// A GEMM that another program slows in most intervals still shows the machine's rate.
TEST(GemmRate, HasTheTimeOfEachInterval) {
  SlowEngine engine(1e10);
  engine.hurry(0.06, 10);
  const RateIntervals intervals = engine.measured_intervals(DType::fp32);
  EXPECT_NEAR(intervals.front().flops_per_s, 1e10, 1e3);
  EXPECT_NEAR(intervals.back().flops_per_s, 4e10, 4e3);
  for (std::size_t i = 1; i < intervals.size(); ++i) EXPECT_GT(intervals[i].end_s, intervals[i - 1].end_s);
}

TEST(GemmRate, TakesNoMoreMemoryThanItIsGivenForLargerGemms) {
  const std::size_t of_512 = 3 * 512 * 512 * sizeof(float) + 64;
  for (const std::size_t max_bytes : {of_512, of_512 - 1, std::size_t{0}}) {
    SlowEngine fast(1e13);
    EXPECT_NEAR(fast.measured_rate(DType::fp32, max_bytes), 1e13, 1e6);
    EXPECT_EQ(fast.problems.back().m, max_bytes == of_512 ? 512 : 256) << max_bytes;
  }
}

TEST(GemmRate, OfThisMachineIsANumberInEveryType) {
  const auto engine = make_gemm_engine({});
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const double rate = measure_gemm_rate(Execution{}, *engine, type, plenty);
    EXPECT_GT(rate, 1e6) << name_of(type);
    EXPECT_LT(rate, 1e18) << name_of(type);
  }
}

}  // namespace mylos::gemm_rate_test
