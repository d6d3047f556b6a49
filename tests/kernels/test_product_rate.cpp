// The rate of an engine whose speed is known.
#include "mylos/kernels/product_rate.hpp"

#include <gtest/gtest.h>

namespace mylos::product_rate_test {

/// Computes nothing, and takes its time by a clock of its own.
class SlowEngine final : public GemmEngine {
 public:
  explicit SlowEngine(double flops_per_s) : flops_per_s_(flops_per_s) {}
  [[nodiscard]] std::string_view name() const override { return "slow"; }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 64; }
  void run(const Execution&, const GemmProblem& problem, const GemmOperands&, void*) override {
    problems.push_back(problem);
    now_s_ += flops_of(problem) / flops_per_s_;
  }
  double measured_rate(DType type) {
    return measure_product_rate(Execution{}, *this, type, [this] { return now_s_; });
  }
  std::vector<GemmProblem> problems;

 private:
  double flops_per_s_;
  double now_s_ = 0;
};

TEST(ProductRate, IsThatOfTheEngine) {
  SlowEngine engine(1e10);
  EXPECT_NEAR(engine.measured_rate(DType::bf16), 1e10, 1e3);
  for (const GemmProblem& problem : engine.problems) EXPECT_EQ(problem.a, DType::bf16);
}

TEST(ProductRate, IsOfALargerProductWhereTheEngineIsFaster) {
  SlowEngine slow(1e10);  // 256 cubed take it 3.4 ms
  SlowEngine fast(1e12);
  EXPECT_NEAR(slow.measured_rate(DType::fp32), 1e10, 1e3);
  EXPECT_NEAR(fast.measured_rate(DType::fp32), 1e12, 1e5);
  EXPECT_EQ(slow.problems.back().m, 256);
  EXPECT_EQ(fast.problems.back().m, 1024);
  EXPECT_EQ(fast.problems.back().m, fast.problems.back().k);
}

TEST(ProductRate, OfThisMachineIsANumberInEveryType) {
  const auto engine = make_gemm_engine({});
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const double rate = measure_product_rate(Execution{}, *engine, type);
    EXPECT_GT(rate, 1e6) << name_of(type);
    EXPECT_LT(rate, 1e18) << name_of(type);
  }
}

}  // namespace mylos::product_rate_test
