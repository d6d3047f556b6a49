// Plans that come from files: the same after a round trip, and refused with a reason where they are hostile
// or foreign.
#include "mylos/train/plan/stored_plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mylos/base/alignment.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/planner/lists.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "planner/random_chains.hpp"
#include "support/refusal.hpp"

namespace mylos::stored_plan_test {

std::string text_of(const ChainCost& cost, const Plan& plan, const PlannedEngines& engines = {}) {
  MemoryPlan memory{.statement = {}, .plan = plan, .engines = engines};
  memory.statement.cost = cost;
  return plan_json(memory);
}

TEST(StoredPlan, RoundTrip) {
  std::mt19937_64 generator(31);
  for (std::size_t blocks = 1; blocks < 30; ++blocks) {
    const ChainCost cost = test::random_chain(
        generator, {.blocks = blocks, .max_variants = 3, .input_in_arena = blocks % 2 == 0});
    const auto plan = make_plan(cost, place(trace_lifetimes(cost, store_all(blocks))).bytes / 10 * 8, {});
    if (!plan) continue;
    const StoredPlan stored = parse_plan(text_of(cost, *plan), "plan.json");
    EXPECT_EQ(stored.cost, cost);
    EXPECT_EQ(stored.schedule, plan->schedule);
    EXPECT_EQ(stored.arena_bytes, plan->placement.bytes);
    const Plan again = reuse_plan(stored, cost, "plan.json");
    EXPECT_EQ(again.schedule, plan->schedule);
    EXPECT_EQ(again.placement.bytes, plan->placement.bytes);
    EXPECT_EQ(again.time, plan->time);
    EXPECT_EQ(again.store_all_time, plan->store_all_time);
  }
}

class PlanText : public testing::Test {
 protected:
  PlanText() : text_(text_of(cost_, plan_of_list(cost_, recompute_every(2, 1)))) {}

  [[nodiscard]] std::string with(const std::string& part, const std::string& instead) const {
    const std::size_t at = text_.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return std::string(text_).replace(at, part.size(), instead);
  }

  void expect_refused(const std::string& text, const std::string& part) const {
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::plan_mismatch, {"plan.json", part},
                              [&] { (void)reuse_plan(parse_plan(text, "plan.json"), cost_, "plan.json"); }));
  }

  [[nodiscard]] static std::string saved(std::size_t bytes) {
    return fmt::format("\"saved_bytes\": {}", bytes);
  }

  static constexpr std::size_t unit = arena_alignment;
  ChainCost cost_{
      0,
      std::vector<StageCost>(2, {unit, unit, {{"all", 2 * unit, unit, 0}, {"lean", 0, 3 * unit, 1}}, 1.5, 2}),
      0, 0};
  std::string text_;
};

TEST_F(PlanText, IsReadWithMembersThatToolsAdd) {
  EXPECT_NO_THROW(
      (void)reuse_plan(parse_plan(with("\"version\"", "\"tool\": [1, {}], \"version\""), "p"), cost_, "p"));
}

TEST_F(PlanText, IsRefusedWhereItIsNoPlan) {
  expect_refused("", "is not JSON");
  expect_refused(text_.substr(0, text_.size() / 2), "is not JSON");
  expect_refused("[]", "object");
  expect_refused("{}", "format");
  expect_refused(std::string(100'000, '['), "is not JSON");
  expect_refused(std::string((16 << 20) + 1, ' '), "16777216");
  expect_refused("\xff\xfe{}", "is not JSON");
  expect_refused(with("mylos-plan", "something"), "format");
  expect_refused(with("\"version\": 1", "\"version\": 2"), "version");
}

TEST_F(PlanText, IsRefusedWhereAMemberIsNotWhatItShouldBe) {
  expect_refused(with(saved(2 * unit), "\"saved_bytes\": -64"), "cost.blocks[0].variants[0].saved_bytes");
  expect_refused(with(saved(2 * unit), "\"saved_bytes\": 18446744073709551552"),
                 "cost.blocks[0].variants[0].saved_bytes");
  expect_refused(with(saved(2 * unit), "\"saved_bytes\": 1e300"), "cost.blocks[0].variants[0].saved_bytes");
  expect_refused(with(saved(2 * unit), saved(100)), fmt::format("multiple of {}", unit));
  expect_refused(with(saved(2 * unit), "\"saved_byte\": 128"), "cost.blocks[0].variants[0].saved_bytes");
  expect_refused(with("\"forward_time_ms\": 1.5", "\"forward_time_ms\": -1"),
                 "cost.blocks[0].forward_time_ms");
  expect_refused(with("\"forward_time_ms\": 1.5", "\"forward_time_ms\": null"),
                 "cost.blocks[0].forward_time_ms");
  expect_refused(with("\"update_time_ms\": 0", "\"update_time_ms\": -1"), "cost.update_time_ms");
  expect_refused(with("\"times\": \"model\"", "\"times\": \"guessed\""), "cost.times");
  expect_refused(with("\"run\": \"forward\"", "\"run\": \"sideways\""), "operations[0].run");
  expect_refused(with("\"keep\": \"input\"", "\"keep\": \"output\""), "operations[0].keep");
  expect_refused(with("\"block\": 0", "\"block\": 2"),
                 "operations[0].block is not a whole number from 0 to 1");
  expect_refused(with("\"variant\": 0", "\"variant\": 2"), "variant is not a whole number from 0 to 1");
  expect_refused(with("\"operations\": [", "\"operations\": [], \"other\": ["), "operations");
  expect_refused(with("\"operations\": [", "\"operations\": {}, \"other\": ["), "operations");
}

TEST_F(PlanText, KeepsTheEngineOfEachGemm) {
  PlannedEngines engines{.instructions = "avx2, oneDNN's AVX2", .gemms = {}, .threads = 3};
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    engines.gemms.push_back({linear_output(7, 5, 3, type), "tiles"});
    engines.gemms.push_back({linear_input_gradient(7, 5, 3, type), "onednn"});
    engines.gemms.push_back({linear_weight_gradient(7, 5, 3, type, DType::fp32), "kokkos"});
    engines.gemms.push_back({linear_output(8, 5, 3, type), "cublaslt/130002/66.24.1.0.0.0.36.0.2"});
    engines.gemms.push_back({linear_output(9, 5, 3, type), "hipblaslt/100202/1234"});
  }
  const PlannedEngines read =
      parse_plan(text_of(cost_, plan_of_list(cost_, recompute_every(2, 1)), engines), "p").engines;
  EXPECT_EQ(read.instructions, engines.instructions);
  EXPECT_EQ(read.threads, 3);
  ASSERT_EQ(read.gemms.size(), engines.gemms.size());
  for (std::size_t i = 0; i < read.gemms.size(); ++i) {
    EXPECT_TRUE(same_product(read.gemms[i].problem, engines.gemms[i].problem)) << i;
    EXPECT_EQ(read.gemms[i].engine, engines.gemms[i].engine) << i;
  }
  EXPECT_TRUE(parse_plan(text_, "p").engines.gemms.empty()) << "plans of earlier versions do not say";
}

TEST_F(PlanText, IsRefusedWhereItsGemmsAreHostile) {
  const PlannedEngines engines{
      .instructions = "avx2", .gemms = {{linear_output(7, 5, 3, DType::bf16), "tiles"}}, .threads = 2};
  text_ = text_of(cost_, plan_of_list(cost_, recompute_every(2, 1)), engines);
  for (const char* engine :
       {"tile", "cublaslt/130002/66;24", "cublaslt/\\u0007", "hipblaslt/1;2", "rocblas/1/2"}) {
    expect_refused(with("\"engine\": \"tiles\"", fmt::format("\"engine\": \"{}\"", engine)),
                   "products[0].engine");
  }
  expect_refused(with("\"form\": \"y\"", "\"form\": \"z\""), "products[0].form");
  expect_refused(with("\"m\": 7", "\"m\": 0"), "products[0].m is 0");
  expect_refused(with("\"m\": 7", "\"m\": -7"), "products[0].m");
  expect_refused(with("\"n\": 3", "\"n\": 2147483648"),
                 "products[0].n is not a whole number from 0 to 2147483647");
  expect_refused(with("\"k\": 5", "\"k\": 1e300"), "products[0].k");
  expect_refused(with("\"k\": 5", "\"l\": 5"), "products[0].k");
  expect_refused(with("\"type\": \"bf16\"", "\"type\": \"int32\""), "products[0].type");
  expect_refused(with("\"stored\": \"bf16\"", "\"stored\": \"fp16\""), "products[0].stored");
  expect_refused(with("\"tiles\"", "\"fastest\""), "products[0].engine");
  expect_refused(with("\"tiles\"", "[]"), "products[0].engine");
  expect_refused(with("avx2", std::string(300, 'a')), "instructions");
  expect_refused(with("\"threads\": 2", "\"threads\": 513"), "threads is not a whole number from 0 to 512");
  expect_refused(with("\"threads\": 2", "\"threads\": \"2\""), "threads is not a whole number from 0 to 512");
  EXPECT_EQ(parse_plan(with("\"threads\": 2", "\"thread\": 2"), "p").engines.threads, 0);
  expect_refused(with("\"products\": [", "\"products\": [], \"other\": ["), "products");
}

TEST_F(PlanText, IsRefusedWhereItsListCannotBeExecuted) {
  expect_refused(with("\"keep\": \"input\"", "\"keep\": \"variant\", \"variant\": 0"), "");
  expect_refused(with("{\n      \"run\": \"loss\"\n    },", ""), "");
}

TEST_F(PlanText, IsReadWhereItsListNowTakesFewerBytes) {
  const std::size_t arena = place(trace_lifetimes(cost_, recompute_every(2, 1))).bytes;
  const std::string looser =
      with("\"arena_bytes\": " + std::to_string(arena), "\"arena_bytes\": " + std::to_string(arena + unit));
  EXPECT_EQ(reuse_plan(parse_plan(looser, "p"), cost_, "p").placement.bytes, arena);
}

TEST_F(PlanText, IsRefusedForAnotherModelOrOtherBytes) {
  expect_refused(
      with(saved(2 * unit), saved(4 * unit)),
      fmt::format("saved_bytes of variant all of block 0 is {} there and {} here", 4 * unit, 2 * unit));
  const std::size_t arena = place(trace_lifetimes(cost_, recompute_every(2, 1))).bytes;
  expect_refused(with("\"arena_bytes\": " + std::to_string(arena), "\"arena_bytes\": 64"),
                 "arena_bytes is 64 there");
  cost_.blocks.pop_back();
  expect_refused(text_, "the number of blocks is 2 there and 1 here");
}

}  // namespace mylos::stored_plan_test
