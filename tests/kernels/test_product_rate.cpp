// The rate of an engine whose speed is known.
#include "mylos/kernels/product_rate.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace mylos::product_rate_test {

/// Takes its time and computes nothing.
class SlowEngine final : public GemmEngine {
 public:
  explicit SlowEngine(double flops_per_s) : flops_per_s_(flops_per_s) {}
  [[nodiscard]] std::string_view name() const override { return "slow"; }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 64; }
  void run(const Execution&, const GemmProblem& problem, const GemmOperands&, void*) override {
    problems.push_back(problem);
    std::this_thread::sleep_for(std::chrono::duration<double>(flops_of(problem) / flops_per_s_));
  }
  std::vector<GemmProblem> problems;

 private:
  double flops_per_s_;
};

TEST(ProductRate, IsThatOfTheEngineAndNoMore) {
  SlowEngine engine(1e10);
  const double rate = measure_product_rate(Execution{}, engine, DType::bf16);
  EXPECT_LE(rate, 1e10);
  EXPECT_GE(rate, 1e9) << "sleep lasts longer, but not so much";
  for (const GemmProblem& problem : engine.problems) EXPECT_EQ(problem.a, DType::bf16);
}

TEST(ProductRate, IsOfALargerProductWhereTheEngineIsFaster) {
  SlowEngine slow(1e10);
  SlowEngine fast(1e12);
  const auto rate = [](SlowEngine& engine) { return measure_product_rate(Execution{}, engine, DType::fp32); };
  EXPECT_LT(rate(slow), rate(fast));
  EXPECT_LT(slow.problems.back().m, fast.problems.back().m);
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
