// Modelled times against the roofline computed by hand.
#include "mylos/model/chain/chain_cost.hpp"

#include <gtest/gtest.h>

#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/rates/known_devices.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::chain_cost_test {

/// One wide hidden layer, so that GEMMs take longer than memory traffic.
Chain wide_chain(DType compute, std::vector<PrecisionRule> rules = {}) {
  PrecisionOptions precision;
  precision.compute = compute;
  precision.rules = std::move(rules);
  return make_chain({.hidden = {1024}, .inputs = 1024, .outputs = 1024}, precision, 1, false);
}

constexpr std::int64_t rows = 4096;
constexpr double product_flops = 2.0 * rows * 1024 * 1024;
constexpr MachineRates fast_memory{.fp32_flops = 1e8, .bf16_flops = 4e8, .fp16_flops = 5e7, .bytes = 1e15};

TEST(ChainCost, TimesFollowTheRateOfEachType) {
  const auto engines = make_engines({});
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const ChainCost cost = chain_cost(wide_chain(type), *engines, rows, fast_memory);
    const double rate = type == DType::fp32 ? 1e8 : type == DType::bf16 ? 4e8 : 5e7;
    // Bias and activation take a thousandth of the GEMM.
    EXPECT_NEAR(cost.blocks.front().forward_time, product_flops / rate, 0.01 * product_flops / rate)
        << name_of(type);
  }
}

TEST(ChainCost, ALayerThatARuleMakesFloatTakesFloatsTime) {
  const auto engines = make_engines({});
  const ChainCost plain = chain_cost(wide_chain(DType::bf16), *engines, rows, fast_memory);
  const ChainCost ruled =
      chain_cost(wide_chain(DType::bf16, {{"head", DType::fp32}}), *engines, rows, fast_memory);
  EXPECT_EQ(ruled.blocks.front().forward_time, plain.blocks.front().forward_time);
  EXPECT_NEAR(ruled.loss_time, 4 * plain.loss_time, 1e-6 * plain.loss_time);
}

TEST(ChainCost, TimesAreThoseOfMemoryWhereThatIsSlower) {
  const auto engines = make_engines({});
  MachineRates slow_memory = fast_memory;
  slow_memory.bytes = 1e3;
  MachineRates twice = slow_memory;
  twice.bytes = 2e3;
  const ChainCost slow = chain_cost(wide_chain(DType::bf16), *engines, rows, slow_memory);
  const ChainCost faster = chain_cost(wide_chain(DType::bf16), *engines, rows, twice);
  EXPECT_DOUBLE_EQ(slow.blocks.front().forward_time, 2 * faster.blocks.front().forward_time);
}

/// Two layers with 4096 x 4096 weights and a head of the same size, without saved tensors of a nonlinearity.
Chain square_chain(DType compute) {
  PrecisionOptions precision;
  precision.compute = compute;
  return make_chain({.hidden = {4096, 4096}, .activation = Activation::relu, .inputs = 4096, .outputs = 4096},
                    precision, 1, false);
}

TEST(ChainCost, OfManySamplesOnANamedDeviceIsItsArithmetic) {
  // An H100's 989.5 TFLOP/s in 16 bits, 67 in float: a GEMM of 8192 x 4096 x 4096 takes 0.278 and 4.10 ms.
  const auto engines = make_engines({});
  constexpr std::int64_t many = 8192;
  constexpr double product = 2.0 * many * 4096 * 4096;
  const MachineRates rates = known_device("h100-sxm").peak_rates();
  for (const auto& [type, flops_per_s] : {std::pair{DType::bf16, 989.5e12}, {DType::fp32, 67e12}}) {
    const ChainCost cost = chain_cost(square_chain(type), *engines, many, rates);
    const StageCost& second = cost.blocks.at(1);  // has a gradient of its input
    EXPECT_NEAR(second.forward_time, 1000 * product / flops_per_s, 1e-9) << name_of(type);
    EXPECT_NEAR(second.backward_time, 2000 * product / flops_per_s, 1e-9) << name_of(type);
  }
}

TEST(ChainCost, OfOneSampleOnANamedDeviceIsToReadItsWeights) {
  const auto engines = make_engines({});
  const ChainCost cost =
      chain_cost(square_chain(DType::bf16), *engines, 1, known_device("h100-sxm").peak_rates());
  constexpr double weights = 2.0 * 4096 * 4096;  // bytes, at 3350 GB/s; a sample has a thousandth
  const double expected = 1000 * weights / 3350e9;
  EXPECT_NEAR(cost.blocks.at(1).forward_time, expected, 0.002 * expected);
  EXPECT_NEAR(cost.blocks.at(1).backward_time, 2 * expected, 0.004 * expected);
}

}  // namespace mylos::chain_cost_test
