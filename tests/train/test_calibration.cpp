// Times measured before a run: what is measured, in how much memory, and what becomes of it.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/chain/block_shapes.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/plan/calibration.hpp"
#include "mylos/train/plan/memory_plan.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "train/allocations.hpp"
#include "train/memory_world.hpp"
#include "train/synthetic.hpp"

namespace mylos {
namespace {

using namespace testing_support;  // NOLINT

constexpr std::size_t plenty = std::size_t{1} << 40;
const CalibrationLimits quick{.seconds = 0.05, .rounds = 2};

Options deep_gpt(DType compute, std::int64_t layers) {
  Options options = small_gpt(compute);
  options.model.layers = layers;
  options.model.context = 32;
  return options;
}

struct Machine {
  Options options;
  std::unique_ptr<EngineSet> engines;

  explicit Machine(const Options& given) : options(given), engines(make_engines(given.kernels)) {}
  [[nodiscard]] MemoryStatement statement() const { return state_memory(problem(0)); }
  [[nodiscard]] NetworkPlan network() const { return plan_network(options, 0, 1); }
  [[nodiscard]] MemoryProblem problem(std::size_t budget) const {
    return {.network = network(), .engines = *engines, .processes = {}, .data = nullptr, .budget = budget};
  }
};

/// Most of what a plan can save: on devices most of a small network's arena is the library's workspace.
std::size_t budget_that_recomputes(const Machine& machine, const MemoryPlan& all) {
  Options options = machine.options;
  options.memory.recompute = RecomputeMode::all;
  const MemoryPlan least = plan_memory(Machine(options).problem(all.rank_bytes()));
  return all.rank_bytes() - (all.arena_bytes() - least.arena_bytes()) / 10 * 9;
}

void expect_time(double milliseconds) {
  EXPECT_TRUE(std::isfinite(milliseconds));
  EXPECT_GT(milliseconds, 0);
}

TEST(BlockShapes, AGptOfEqualLayersHasFour) {
  const Machine machine(deep_gpt(DType::bf16, 5));
  const Chain chain = make_chain(machine.options.model, machine.options.precision, 1, false);
  // embedding, five times attention and feed-forward, norm
  EXPECT_EQ(first_of_shape(chain, *machine.engines, 64),
            (std::vector<std::size_t>{0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 11}));
}

TEST(BlockShapes, OfAnMlpDifferByWidthAndForItsFirstBlock) {
  Options options = small_options(DType::fp32);
  options.model.hidden = {12, 12, 16, 12, 12};  // of 12 inputs: the first is as wide as the second
  const Machine machine(options);
  const Chain chain = make_chain(options.model, options.precision, 1, false);
  EXPECT_EQ(first_of_shape(chain, *machine.engines, 8), (std::vector<std::size_t>{0, 1, 2, 3, 1, 5}));
}

TEST(BlockShapes, APartOfAChainHasItsFirstCopiesAndItsHead) {
  const Machine machine(deep_gpt(DType::bf16, 5));
  const Chain chain = make_chain(machine.options.model, machine.options.precision, 1, false);
  const auto blocks = first_copies(chain, first_of_shape(chain, *machine.engines, 64), 2);
  EXPECT_EQ(blocks, (std::vector<std::size_t>{0, 1, 2, 3, 4, 11}));
  const Chain part = part_of(chain, blocks);
  EXPECT_EQ(part.blocks.size(), 6u);
  EXPECT_EQ(part.stage_name(5), "final_norm");
  EXPECT_EQ(part.head->signature().name, "head");
  EXPECT_EQ(part.head->borrows()->block, 0u);
}

class Calibrated : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Calibrated, testing::Values(DType::fp32, DType::bf16, DType::fp16));

TEST_P(Calibrated, TimesArePositiveAndThoseOfTheShape) {
  for (const bool is_gpt : {false, true}) {
    for (const std::int64_t micro_batch : {0, 8}) {
      Options options = is_gpt ? deep_gpt(GetParam(), 3) : small_options(GetParam());
      if (!is_gpt) options.model.loss = losses::Mse{};
      options.data.micro_batch = micro_batch;
      const Machine machine(options);
      const MemoryStatement statement = machine.statement();
      const auto result = calibrate(machine.network(), *machine.engines, statement, plenty, quick);
      ASSERT_TRUE(result);
      EXPECT_TRUE(result->cost.measured);
      EXPECT_FALSE(statement.cost.measured);
      expect_time(result->cost.loss_time);
      expect_time(result->cost.update_time);
      ASSERT_EQ(result->cost.blocks.size(), statement.cost.blocks.size());
      for (std::size_t i = 0; i < result->cost.blocks.size(); ++i) {
        const StageCost& block = result->cost.blocks[i];
        expect_time(block.forward_time);
        expect_time(block.backward_time);
        EXPECT_EQ(block.variants.front().recompute_time, 0);
        for (const VariantCost& variant : block.variants) EXPECT_GE(variant.recompute_time, 0);
        EXPECT_EQ(block.output_bytes, statement.cost.blocks[i].output_bytes);
      }
      if (!is_gpt) continue;
      EXPECT_EQ(result->shapes, 4u);
      EXPECT_EQ(result->cost.blocks[1], result->cost.blocks[3]);
      EXPECT_NE(result->cost.blocks[1].forward_time, result->cost.blocks[2].forward_time);
    }
  }
}

/// A block whose forward takes 20 ms of the test's own time, and whose backward 40, 100 and 160 with variants
/// 0, 1 and 2. All else takes none.
class SlowBlock final : public Block {
 public:
  SlowBlock(std::shared_ptr<const Block> inner, std::shared_ptr<double> milliseconds)
      : inner_(std::move(inner)), milliseconds_(std::move(milliseconds)) {}

  [[nodiscard]] const Signature& signature() const override { return inner_->signature(); }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override { return inner_->parameters(); }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override {
    return inner_->cost(engines, rows);
  }
  void forward(const StepContext& context, const BlockMemory& memory) const override {
    inner_->forward(context, memory);
    *milliseconds_ += 20;
  }
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override {
    inner_->backward(context, memory, gradients);
    *milliseconds_ += 40 + 60 * static_cast<double>(memory.variant);
  }

 private:
  std::shared_ptr<const Block> inner_;
  std::shared_ptr<double> milliseconds_;
};

TEST(Calibrated, TimesBelongToTheirBlockAndVariant) {
  const Machine machine(deep_gpt(DType::fp32, 1));
  const auto milliseconds = std::make_shared<double>(0);
  NetworkPlan network = machine.network();
  network.chain.blocks[1] = std::make_unique<SlowBlock>(network.chain.blocks[1], milliseconds);
  const auto clock = [milliseconds] { return *milliseconds; };
  const auto result =
      calibrate(network, *machine.engines, machine.statement(), plenty, {.rounds = 2, .clock = clock});
  ASSERT_TRUE(result);
  const StageCost& slow = result->cost.blocks[1];
  EXPECT_EQ(slow.forward_time, 20);
  EXPECT_EQ(slow.backward_time, 40);
  EXPECT_EQ(slow.variants[1].recompute_time, 60);
  EXPECT_EQ(slow.variants[2].recompute_time, 120);
  for (const std::size_t other : {0u, 2u, 3u}) {
    EXPECT_EQ(result->cost.blocks[other].forward_time, 0);
    EXPECT_EQ(result->cost.blocks[other].backward_time, 0);
  }
  EXPECT_EQ(result->cost.loss_time, 0);
}

TEST(Calibrated, TakesNoMoreThanItsRoomAndGivesItBack) {
  const Machine machine(deep_gpt(DType::bf16, 6));
  const MemoryStatement statement = machine.statement();
  std::size_t copies = 100;
  for (std::size_t room = plenty; copies > 0;) {
    const AllocationsByLabel allocations;
    const auto result = calibrate(machine.network(), *machine.engines, statement, room, quick);
    EXPECT_EQ(AllocationsByLabel::total(), 0u);
    if (!result) {
      EXPECT_EQ(AllocationsByLabel::peak(), 0u);
      break;
    }
    // Beside it counters and the partial sums of the check.
    EXPECT_LE(AllocationsByLabel::peak(), result->bytes + (std::size_t{64} << 10));
    EXPECT_LE(result->bytes, room);
    EXPECT_LT(result->copies, copies);
    copies = result->copies;
    room = result->bytes - 1;
  }
  EXPECT_EQ(copies, 1u);
}

TEST(MeasuredTimes, AreWantedWhereTheDeckSaysSoOrSomethingIsRecomputed) {
  const Machine machine(deep_gpt(DType::bf16, 4));
  const MemoryPlan all = plan_memory(machine.problem(plenty));
  const MemoryPlan less = plan_memory(machine.problem(budget_that_recomputes(machine, all)));
  MemoryOptions memory;
  EXPECT_FALSE(wants_measured_times(memory, all));
  EXPECT_TRUE(wants_measured_times(memory, less));
  memory.times = TimesSource::model;
  EXPECT_FALSE(wants_measured_times(memory, less));
  memory.times = TimesSource::measure;
  EXPECT_TRUE(wants_measured_times(memory, all));
  memory.times = TimesSource::automatic;
  memory.recompute = RecomputeMode::all;  // the list is given
  EXPECT_FALSE(wants_measured_times(memory, less));
}

TEST(MeasuredTimes, MakeAPlanWithinTheBudgetThatReadsBackTheSame) {
  const Machine machine(deep_gpt(DType::bf16, 6));
  const MemoryPlan all = plan_memory(machine.problem(plenty));
  const MemoryProblem problem = machine.problem(budget_that_recomputes(machine, all));
  const MeasuredPlan measured = plan_by_measured_times(problem, plan_memory(problem));
  const MemoryPlan& plan = measured.plan;
  EXPECT_TRUE(plan.statement.cost.measured) << measured.note;
  EXPECT_LE(plan.rank_bytes(), problem.budget);
  EXPECT_GE(plan.overhead(), 0);  // what it computes again may take less time than this clock's noise
  EXPECT_NE(plan.plan.schedule, all.plan.schedule);
  EXPECT_NE(measured.note.find("4 kinds of blocks"), std::string::npos) << measured.note;

  const StoredPlan stored = parse_plan(plan_json(plan), "it");
  const MemoryPlan again = plan_again(problem, stored, "it");
  EXPECT_EQ(again.statement.cost, plan.statement.cost);
  EXPECT_EQ(again.plan.schedule, plan.plan.schedule);
  EXPECT_EQ(again.step_time(), plan.step_time());
}

}  // namespace
}  // namespace mylos
