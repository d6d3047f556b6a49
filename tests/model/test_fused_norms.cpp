// Norms that the preceding block computes: which, and with the bits of those that blocks compute themselves.
#include "mylos/model/network/fused_norms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/small_gpt.hpp"
#include "mylos/base/device/target.hpp"
#include "mylos/model/chain/chain_cost.hpp"

namespace mylos::fused_norms_test {

constexpr std::int64_t samples = 2;
constexpr bool fuses = !memory_is_host || emulates_device;

Chain chain_of(NormType norm, DType type, DType of_mlp1) {
  ModelOptions model = test::small_gpt_options();
  model.norm = norm;
  PrecisionOptions precision;
  precision.compute = type;
  precision.rules = {{"mlp1", of_mlp1}};
  return make_gpt(model, precision, 3, true);
}

/// The plan of a chain that stores everything.
struct Planned {
  explicit Planned(Chain of)
      : chain(std::move(of)),
        schedule(store_all(chain.blocks.size())),
        rows(samples * chain.rows_per_sample),
        lifetimes(trace_lifetimes(chain_cost(chain, engines, rows), schedule)),
        placement(place(lifetimes)),
        arena("activations", placement.bytes) {}

  [[nodiscard]] std::vector<std::size_t> fused() const {
    std::vector<std::size_t> operations;
    const auto all = fused_norms(chain, engines, schedule, lifetimes, placement, arena, rows);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]) operations.push_back(i);
    }
    return operations;
  }

  test::ScribblingGemm gemm;
  Engines engines = gemm;
  Chain chain;
  Schedule schedule;
  std::int64_t rows;
  Lifetimes lifetimes;
  Placement placement;
  Arena arena;
};

/// Embedding, attention1, mlp1, attention2, mlp2, final norm: an embedding adds no residual, and the memory
/// of the final norm may be in use until it runs.
TEST(FusedNorms, AreThoseAfterResidualSumsOfTheirType) {
  const auto plain = Planned(chain_of(NormType::layernorm, DType::bf16, DType::bf16)).fused();
  if (!fuses) {
    EXPECT_THAT(plain, testing::IsEmpty());
    return;
  }
  EXPECT_THAT(plain, testing::IsSupersetOf({1, 2, 3}));
  EXPECT_THAT(plain, testing::IsSubsetOf({1, 2, 3, 4}));
  const auto mixed = Planned(chain_of(NormType::rmsnorm, DType::bf16, DType::fp32)).fused();
  EXPECT_THAT(mixed, testing::Contains(3));
  EXPECT_THAT(mixed, testing::IsSubsetOf({3, 4})) << "mlp1 and attention2 cast their inputs";
}

TEST(FusedNorms, TakeNoMemoryThatIsInUse) {
  if (!fuses) GTEST_SKIP() << "hosts compute norms separately";
  Planned plan(chain_of(NormType::layernorm, DType::bf16, DType::bf16));
  const std::vector<std::size_t> before = plan.fused();
  ASSERT_THAT(before, testing::Contains(2));
  plan.placement.operations[3].saved = plan.placement.tensors[plan.lifetimes.operations[2].input];
  EXPECT_THAT(plan.fused(), testing::Not(testing::Contains(2)));
  EXPECT_EQ(plan.fused().size(), before.size() - 1);
}

/// Evaluation computes every norm in its own block.
TEST(FusedNorms, HaveTheBitsOfSeparateOnes) {
  const test::TokenArray tokens(test::drawn_tokens(samples * 5, 13, 1));
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const NormType norm : {NormType::layernorm, NormType::rmsnorm}) {
      const Execution exec;
      test::ScribblingGemm gemm;
      const Engines engines = gemm;
      TrainingModel model(chain_of(norm, type, type), engines, samples, 1 << 20, 1);
      test::set_lively_weights(model.parameters());
      const test::DeviceValue<std::uint64_t> step{1};
      StepContext context{.exec = exec, .engines = engines, .step = step.data()};
      model.forward(context, tokens.tensor());
      exec.fence();
      const auto trained = test::bytes_of(model.output());
      context.training = false;
      model.forward(context, tokens.tensor());
      exec.fence();
      EXPECT_EQ(test::bytes_of(model.output()), trained) << name_of(type);
    }
  }
}

}  // namespace mylos::fused_norms_test
