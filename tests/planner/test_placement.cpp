// Where the tensors of an operation list lie: apart while they live, and tight.
#include <gtest/gtest.h>

#include <algorithm>

#include "mylos/base/alignment.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/model/memory/placement.hpp"
#include "mylos/planner/lists.hpp"
#include "mylos/planner/min_memory.hpp"
#include "mylos/planner/plan.hpp"
#include "random_chains.hpp"
#include "support/cases.hpp"
#include "support/refusal.hpp"

namespace mylos::placement_test {

using enum OperationKind;

/// Runs the list on an arena that remembers, for every unit of alignment, which value was written last, and
/// checks that every operation finds the values that it reads.
class CheckedRun {
 public:
  CheckedRun(const ChainCost& cost, const Schedule& schedule)
      : cost_(cost),
        schedule_(schedule),
        placement_(place(trace_lifetimes(cost, schedule))),
        arena_(placement_.bytes / arena_alignment, 0) {}

  std::size_t run() {
    if (cost_.input_bytes > 0) write(placement_.operations[0].input, cost_.input_bytes, activation(0));
    for (std::size_t at = 0; at < schedule_.size(); ++at) {
      const Operation& operation = schedule_[at];
      const OperationPlaces& places = placement_.operations[at];
      const std::size_t i = operation.block;
      const std::size_t skip = operation.kind == loss ? no_skip : cost_.blocks[i].skip;
      read(at, places.input, size(i), activation(i));
      if (skip != no_skip) read(at, places.skip, size(skip), activation(skip));
      if (operation.kind == loss) {
        write(places.workspace, cost_.loss_workspace, scratch);
        write(places.input_gradient, size(i), gradient(i));
        read(at, places.input, size(i), activation(i));
        continue;
      }
      const StageCost& block = cost_.blocks[i];
      const VariantCost& variant = block.variants[operation.variant];
      if (operation.kind == forward) {
        write(places.workspace, block.forward_workspace, scratch);
        write(places.output, block.output_bytes, activation(i + 1));
        if (operation.keep == Keep::variant)
          write(places.saved, variant.saved_bytes, saved(i, operation.variant));
        read(at, places.input, size(i), activation(i));
        read(at, places.output, block.output_bytes, activation(i + 1));
      } else {
        write(places.workspace, variant.backward_workspace, scratch);
        if (i > 0) write(places.input_gradient, size(i), gradient(i));
        if (skip != no_skip && skip > 0) {
          if (skips_.last_reader(skip) != i)
            read(at, places.skip_gradient, size(skip), carried_gradient(skip));
          write(places.skip_gradient, size(skip), carried_gradient(skip));
        }
        if (i > 0 && skips_.last_reader(i) != no_skip)
          read(at, places.carried_gradient, size(i), carried_gradient(i));
        read(at, places.input, size(i), activation(i));
        if (skip != no_skip) read(at, places.skip, size(skip), activation(skip));
        read(at, places.output, block.output_bytes, activation(i + 1));
        read(at, places.saved, variant.saved_bytes, saved(i, operation.variant));
        read(at, places.output_gradient, block.output_bytes, gradient(i + 1));
        if (i > 0) read(at, places.input_gradient, size(i), gradient(i));
      }
    }
    return placement_.bytes;
  }

 private:
  static constexpr int scratch = -1;
  static int activation(std::size_t i) { return static_cast<int>(100 * i + 1); }
  static int gradient(std::size_t i) { return static_cast<int>(100 * i + 2); }
  static int carried_gradient(std::size_t i) { return static_cast<int>(100 * i + 3); }
  static int saved(std::size_t i, std::size_t variant) { return static_cast<int>(100 * i + 4 + variant); }
  [[nodiscard]] std::size_t size(std::size_t i) const {
    return i == 0 ? cost_.input_bytes : cost_.blocks[i - 1].output_bytes;
  }

  void write(std::size_t offset, std::size_t bytes, int value) {
    if (bytes == 0) return;
    ASSERT_EQ(offset % arena_alignment, 0u);
    ASSERT_LE(offset + bytes, placement_.bytes);
    std::fill_n(arena_.begin() + static_cast<std::ptrdiff_t>(offset / arena_alignment),
                bytes / arena_alignment, value);
  }

  void read(std::size_t at, std::size_t offset, std::size_t bytes, int value) const {
    if (bytes == 0) return;
    ASSERT_NE(offset, nowhere) << at << ", " << describe(schedule_[at]);
    for (std::size_t unit = 0; unit < bytes / arena_alignment; ++unit) {
      ASSERT_EQ(arena_[offset / arena_alignment + unit], value)
          << "operation " << at << ", " << describe(schedule_[at]);
    }
  }

  const ChainCost& cost_;
  const Schedule& schedule_;
  const Skips skips_ = cost_.skips();
  Placement placement_;
  std::vector<int> arena_;
};

const StageCost small{64, 64, {{"all", 128, 64, 0}, {"lean", 0, 192, 1}}, 1, 2};

TEST(Placement, StoreAllOfTwoBlocksByHand) {
  const ChainCost cost{0, {small, small}, 64, 1};
  const Schedule schedule = store_all(2);
  // forward 0: x1, saved 128, workspace 64 | forward 1: the same on top of 192 | loss: 384, δ2, workspace |
  // backward 1: 384, δ2, δ1, workspace | backward 0: 192, δ1, workspace
  EXPECT_EQ(trace_lifetimes(cost, schedule).live_bytes(),
            (std::vector<std::size_t>{256, 448, 512, 576, 320}));
  const Placement placement = place(trace_lifetimes(cost, schedule));
  EXPECT_EQ(placement.bytes, 576u);
  EXPECT_EQ(placement.operations[0].input, nowhere);
  EXPECT_EQ(placement.operations[0].output, 0u);
  EXPECT_EQ(placement.operations[0].saved, 64u);
  EXPECT_EQ(placement.operations[1].input, 0u);
  EXPECT_EQ(placement.operations[1].output, 192u);
  EXPECT_EQ(placement.operations[3].output_gradient, placement.operations[2].input_gradient);
  EXPECT_EQ(placement.operations[4].output_gradient, placement.operations[3].input_gradient);
  EXPECT_EQ(placement.operations[4].input_gradient, nowhere);
}

TEST(Placement, KeepingInputsByHand) {
  const ChainCost cost{0, {small, small}, 0, 1};
  const Schedule schedule{{forward, 0, Keep::input},       {forward, 1, Keep::variant, 1}, {loss, 2},
                          {backward, 1, Keep::nothing, 1}, {forward, 0, Keep::variant, 0}, {backward, 0}};
  // x1, workspace | x1, x2, workspace | x1, x2, δ2 | x1, x2, δ2, δ1, 192 | δ1, x1, 128, workspace | δ1, x1,
  // 128, 64
  EXPECT_EQ(trace_lifetimes(cost, schedule).live_bytes(),
            (std::vector<std::size_t>{128, 192, 192, 448, 320, 320}));
  EXPECT_EQ(predicted_time(cost, schedule), 1 + 1 + 1 + 3 + 1 + 2);
  EXPECT_EQ(CheckedRun(cost, schedule).run(), 448u);
}

TEST(Placement, EveryOperationFindsWhatItReads) {
  std::mt19937_64 generator(5);
  for (int round = 0; round < test::cases(200); ++round) {
    const std::size_t blocks = 1 + static_cast<std::size_t>(round) % 40;
    const ChainCost cost = test::random_chain(generator, {.blocks = blocks,
                                                          .max_variants = 3,
                                                          .input_in_arena = round % 2 == 0,
                                                          .skips = round % 3 == 0 ? 0.4 : 0});
    CheckedRun(cost, store_all(blocks)).run();
    CheckedRun(cost, min_memory_schedule(cost)).run();
    CheckedRun(cost, recompute_every(blocks, 1 + round % 7)).run();
    const std::size_t budget =
        trace_lifetimes(cost, store_all(blocks)).live_peak() / 10 * static_cast<std::size_t>(3 + round % 7);
    if (const auto plan = make_plan(cost, budget, {})) CheckedRun(cost, plan->schedule).run();
    if (HasFatalFailure()) return;
  }
}

TEST(Placement, EveryOperationOfALongPlanFindsWhatItReads) {
  std::mt19937_64 generator(6);
  for (const std::size_t layers : {300u, 1000u}) {
    for (const test::RandomChainShape& pattern :
         {test::RandomChainShape{.blocks = 3, .max_variants = 3, .skips = 0.7},
          test::RandomChainShape{.blocks = layers, .max_variants = 3}}) {
      const ChainCost cost = test::repeated_chain(test::random_chain(generator, pattern), layers);
      const std::size_t min = trace_lifetimes(cost, min_memory_schedule(cost)).live_peak();
      const std::size_t max = trace_lifetimes(cost, store_all(cost.blocks.size())).live_peak();
      const std::size_t budget = min + (max - min) / 3;
      const auto plan = make_plan(cost, budget, {});
      ASSERT_TRUE(plan.has_value()) << layers << " layers";
      EXPECT_LE(CheckedRun(cost, plan->schedule).run(), budget);
      if (HasFatalFailure()) return;
    }
  }
}

/// The arena's bytes per byte of the live peak. Runs the list.
double ratio(const ChainCost& cost, const Schedule& schedule) {
  return static_cast<double>(CheckedRun(cost, schedule).run()) /
         static_cast<double>(trace_lifetimes(cost, schedule).live_peak());
}

/// The largest over plans at several budgets, the smallest plan and lists that are no plans.
double worst_ratio(const ChainCost& cost) {
  const std::size_t blocks = cost.blocks.size();
  const std::size_t least = trace_lifetimes(cost, min_memory_schedule(cost)).live_peak();
  const std::size_t most = trace_lifetimes(cost, store_all(blocks)).live_peak();
  double worst = 1;
  for (std::size_t part = 0; part <= 6; ++part) {
    const auto plan = make_plan(cost, least + (most - least) * part / 6, {});
    if (plan) worst = std::max(worst, ratio(cost, plan->schedule));
  }
  for (const Schedule& list : {smallest_plan(cost).schedule, min_memory_schedule(cost),
                               recompute_every(blocks, 1), recompute_every(blocks, 3), store_all(blocks)}) {
    worst = std::max(worst, ratio(cost, list));
  }
  return worst;
}

TEST(Placement, TakesAtMostTwoPercentMoreThanTheLivePeak) {
  std::mt19937_64 generator(9);
  double worst = 1;
  for (int round = 0; round < test::cases(60); ++round) {
    const std::size_t blocks = 2 + static_cast<std::size_t>(round) * 5 % 24;
    // Sizes without relation to each other; few different sizes; those of a GPT, as they are and spread.
    const ChainCost cost =
        round % 4 == 0
            ? test::random_chain(generator, {.blocks = blocks, .max_variants = 3, .max_units = 1000})
        : round % 4 == 1
            ? test::random_chain(generator,
                                 {.blocks = blocks, .max_variants = 3, .skips = round % 8 == 1 ? 0.3 : 0})
            : test::gpt_chain(generator, blocks / 2 + 1, 1 << 14, round % 4 == 2 ? 1 : 4);
    const double chain_worst = worst_ratio(cost);
    EXPECT_LE(chain_worst, 1.02) << "round " << round << ", " << cost.blocks.size() << " blocks";
    worst = std::max(worst, chain_worst);
    if (HasFatalFailure()) return;
  }
  std::printf("arena at most %.4f of the live peak\n", worst);
}

void expect_refused(const Schedule& schedule, const std::string& why) {
  const ChainCost cost{0, {small, small}, 0, 0};
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::internal, {why},
                            [&] { (void)place(trace_lifetimes(cost, schedule)); }));
}

TEST(Placement, RefusesListsThatCannotBeExecuted) {
  const Schedule all = store_all(2);
  const auto with = [&](std::size_t at, Operation operation) {
    Schedule list = all;
    list[at] = operation;
    return list;
  };
  expect_refused({}, "has no loss");
  expect_refused(with(0, {forward, 1, Keep::variant}),
                 "operation 0 of the execution schedule, forward of block 1, cannot be executed: its input");
  expect_refused(with(1, {forward, 0, Keep::variant}), "its output is in memory already");
  expect_refused(with(1, {forward, 2, Keep::variant}), "there are 2 blocks");
  expect_refused(with(1, {forward, 1, Keep::variant, 2}), "has 2 variants, not number 2");
  expect_refused(with(0, {forward, 0, Keep::nothing}), "no forward operation kept a variant");
  expect_refused(with(2, {loss, 1}), "not the number of blocks");
  expect_refused(with(3, {loss, 2}), "it has been done");
  expect_refused(with(3, {backward, 0}), "the gradient of its output is not in memory");
  expect_refused(with(3, {backward, 1, Keep::nothing, 1}), "forward kept variant 0, not 1");
  expect_refused(with(4, {backward, 1}), "the gradient of its output");
  expect_refused({all.begin(), all.end() - 1}, "ends before backward of block 0");
  expect_refused({all[0], all[1], all[2], all[3], {forward, 1, Keep::nothing}},
                 "backward of the block has been done");
}

}  // namespace mylos::placement_test
