// Plans that come from files: the same after a round trip, and refused with a reason where they are hostile
// or foreign.
#include "mylos/planner/plan_json.hpp"

#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/planner/lists.hpp"
#include "random_chains.hpp"

namespace mylos::plan_json_test {

TEST(PlanJson, RoundTrip) {
  std::mt19937_64 generator(31);
  for (std::size_t blocks = 1; blocks < 30; ++blocks) {
    const ChainCost cost = test::random_chain(
        generator, {.blocks = blocks, .most_variants = 3, .input_in_arena = blocks % 2 == 0});
    const auto plan = make_plan(cost, place(cost, store_all(blocks)).bytes / 10 * 8, {});
    if (!plan) continue;
    const StoredPlan stored = parse_plan(plan_json(cost, *plan), "plan.json");
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
  PlanText() : text_(plan_json(cost_, plan_of_list(cost_, recompute_every(2, 1)))) {}

  [[nodiscard]] std::string with(const std::string& part, const std::string& instead) const {
    const std::size_t at = text_.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return std::string(text_).replace(at, part.size(), instead);
  }

  void expect_refused(const std::string& text, const std::string& why) const {
    try {
      (void)reuse_plan(parse_plan(text, "plan.json"), cost_, "plan.json");
      ADD_FAILURE() << "was read: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_input);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("plan.json"), std::string::npos) << error.what();
    }
  }

  ChainCost cost_{0, std::vector<StageCost>(2, {64, 64, {{"all", 128, 64, 0}, {"lean", 0, 192, 1}}, 1.5, 2}),
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
  expect_refused("[]", "the text is not an object");
  expect_refused("{}", "format is missing");
  expect_refused(std::string(100'000, '['), "is not JSON");
  expect_refused(std::string((16 << 20) + 1, ' '), "more than 16777216 bytes");
  expect_refused("\xff\xfe{}", "is not JSON");
  expect_refused(with("mylos-plan", "something"), "format is not");
  expect_refused(with("\"version\": 1", "\"version\": 2"), "version is not 1");
}

TEST_F(PlanText, IsRefusedWhereAMemberIsNotWhatItShouldBe) {
  expect_refused(with("\"saved_bytes\": 128", "\"saved_bytes\": -64"),
                 "cost.blocks[0].variants[0].saved_bytes is not a whole number");
  expect_refused(with("\"saved_bytes\": 128", "\"saved_bytes\": 18446744073709551552"),
                 "is not a whole number from 0 to");
  expect_refused(with("\"saved_bytes\": 128", "\"saved_bytes\": 1e300"), "is not a whole number");
  expect_refused(with("\"saved_bytes\": 128", "\"saved_bytes\": 100"), "is not a multiple of 64");
  expect_refused(with("\"saved_bytes\": 128", "\"saved_byte\": 128"),
                 "cost.blocks[0].variants[0].saved_bytes is missing");
  expect_refused(with("\"forward_time_ms\": 1.5", "\"forward_time_ms\": -1"), "is not a time");
  expect_refused(with("\"forward_time_ms\": 1.5", "\"forward_time_ms\": null"), "is not a time");
  expect_refused(with("\"update_time_ms\": 0", "\"update_time_ms\": -1"),
                 "cost.update_time_ms is not a time");
  expect_refused(with("\"times\": \"model\"", "\"times\": \"guessed\""), "cost.times is none of");
  expect_refused(with("\"run\": \"forward\"", "\"run\": \"sideways\""), "operations[0].run is none of");
  expect_refused(with("\"keep\": \"input\"", "\"keep\": \"output\""), "operations[0].keep is none of");
  expect_refused(with("\"block\": 0", "\"block\": 2"),
                 "operations[0].block is not a whole number from 0 to 1");
  expect_refused(with("\"variant\": 0", "\"variant\": 2"), "variant is not a whole number from 0 to 1");
  expect_refused(with("\"operations\": [", "\"operations\": [], \"other\": ["), "operations must have 1 to");
  expect_refused(with("\"operations\": [", "\"operations\": {}, \"other\": ["), "operations is not an array");
}

TEST_F(PlanText, IsRefusedWhereItsListCannotBeExecuted) {
  expect_refused(with("\"keep\": \"input\"", "\"keep\": \"variant\", \"variant\": 0"), "cannot be executed");
  expect_refused(with("{\"run\": \"loss\"},", ""), "cannot be executed");
}

TEST_F(PlanText, IsReadWhereItsListNowTakesFewerBytes) {
  const std::size_t arena = place(cost_, recompute_every(2, 1)).bytes;
  const std::string looser =
      with("\"arena_bytes\": " + std::to_string(arena), "\"arena_bytes\": " + std::to_string(arena + 64));
  EXPECT_EQ(reuse_plan(parse_plan(looser, "p"), cost_, "p").placement.bytes, arena);
}

TEST_F(PlanText, IsRefusedForAnotherModelOrOtherBytes) {
  expect_refused(with("\"saved_bytes\": 128", "\"saved_bytes\": 256"),
                 "number of threads: saved_bytes of variant all of block 0 is 256 "
                 "there and 128 here");
  const std::size_t arena = place(cost_, recompute_every(2, 1)).bytes;
  expect_refused(with("\"arena_bytes\": " + std::to_string(arena), "\"arena_bytes\": 64"),
                 "arena_bytes is 64 there");
  cost_.blocks.pop_back();
  expect_refused(text_, "the number of blocks is 2 there and 1 here");
}

}  // namespace mylos::plan_json_test
