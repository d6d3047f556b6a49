// mesh.space = "auto" takes the fewest boxes that have a plan, found by trying all divisions.
#include "mylos/train/plan/division/sample_division.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/plan/memory_plan.hpp"
#include "support/refusal.hpp"

namespace mylos::sample_division_test {

using Space = std::vector<std::int64_t>;

constexpr std::size_t plenty = std::size_t{1} << 40;
constexpr std::int64_t high = 24, wide = 36;

/// A run whose activations are most of its memory.
struct Field {
  Options options;
  std::shared_ptr<EngineSet> engines;

  explicit Field(std::int64_t batch) {
    ModelOptions& model = options.model;
    model.type = ModelType::chain;
    model.loss = losses::Mse{};
    model.shape = {high, wide, 2};
    model.inputs = model.outputs = high * wide * 2;
    for (const std::int64_t outputs : {24, 2}) {
      model.chain.push_back({.kind = kinds::Conv{.kernel = {3}},
                             .name = outputs == 2 ? "last" : "first",
                             .outputs = outputs,
                             .activation = outputs == 2 ? Activation::none : Activation::gelu});
    }
    options.data.batch = batch;
    options.data.micro_batch = 2;
    options.mesh.automatic = true;
    engines = make_engines(options.kernels);
  }
  [[nodiscard]] MemoryProblem problem(std::size_t budget) const {
    return {.network = plan_network(options, 0, 1), .engines = *engines, .budget = budget};
  }
  [[nodiscard]] Space chosen(std::size_t budget, int ranks) const {
    return choose_space(problem(budget), ranks);
  }
  /// Whether samples can be divided so on these ranks and the run has a plan.
  [[nodiscard]] bool has_plan(const Space& space, std::size_t budget, int ranks) const {
    try {
      Options divided = options;
      divided.mesh.space = space;
      MemoryProblem own = problem(budget);
      own.network = plan_network(divided, 0, ranks);
      static_cast<void>(plan_memory(own));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  /// The bytes of the division's smallest plan.
  [[nodiscard]] std::size_t min_budget(const Space& space, int ranks) const {
    std::size_t low = 0, enough = std::size_t{1} << 32;
    while (enough - low > (std::size_t{1} << 10)) {
      const std::size_t middle = (low + enough) / 2;
      (has_plan(space, middle, ranks) ? enough : low) = middle;
    }
    return enough;
  }
};

std::vector<Space> divisions_of(int ranks) {
  std::vector<Space> all;
  for (std::int64_t rows = 1; rows <= ranks; ++rows)
    for (std::int64_t columns = 1; rows * columns <= ranks; ++columns)
      if (ranks % (rows * columns) == 0) all.push_back({rows, columns});
  return all;
}

std::int64_t boxes(const Space& space) {
  return space[0] * space[1];
}

/// Of a box of so many points.
std::int64_t face_points(const Space& space) {
  return (space[0] > 1 ? wide / space[1] : 0) + (space[1] > 1 ? high / space[0] : 0);
}

TEST(SampleDivision, AutomaticIsTheFewestBoxesThatHaveAPlan) {
  const Field field(12);
  std::set<Space> taken;
  for (const int ranks : {1, 2, 3, 4, 6, 12}) {
    std::set<std::size_t> budgets{plenty};
    for (const Space& space : divisions_of(ranks)) {
      const std::size_t enough = field.min_budget(space, ranks);
      budgets.insert({enough - 4096, enough + 4096});
    }
    for (const std::size_t budget : budgets) {
      Space expected;
      for (const Space& space : divisions_of(ranks)) {
        if (!field.has_plan(space, budget, ranks)) continue;
        const bool is_better =
            expected.empty() || boxes(space) < boxes(expected) ||
            (boxes(space) == boxes(expected) && face_points(space) < face_points(expected));
        if (is_better) expected = space;
      }
      const std::string what = fmt::format("{} ranks of {} bytes", ranks, budget);
      if (expected.empty()) {
        EXPECT_TRUE(test::refuses(errors::does_not_fit, {"mesh.space", "budget"}, [&] {
          static_cast<void>(field.chosen(budget, ranks));
        })) << what;
      } else {
        EXPECT_EQ(field.chosen(budget, ranks), expected) << what;
        taken.insert(expected);
      }
    }
  }
  EXPECT_TRUE(taken.contains(Space{1, 1}));
  EXPECT_GE(taken.size(), 5u);
}

TEST(SampleDivision, RanksThatHaveNoSampleOfTheirOwnShareOne) {
  EXPECT_EQ(Field(1).chosen(plenty, 2), (Space{1, 2}));
  EXPECT_EQ(Field(2).chosen(plenty, 4), (Space{1, 2}));
  EXPECT_EQ(Field(4).chosen(plenty, 4), (Space{1, 1}));
  EXPECT_EQ(Field(1).chosen(plenty, 6), (Space{1, 6}));
  EXPECT_EQ(Field(1).chosen(plenty, 5), (Space{1, 5}));  // 36 columns: 8, 7, 7, 7 and 7
  EXPECT_TRUE(test::refuses(errors::keys_conflict, {"mesh.space = \"auto\"", "37 ranks", "points"},
                            [&] { static_cast<void>(Field(1).chosen(plenty, 37)); }));
}

TEST(SampleDivision, NetworksThatCannotBeDividedKeepWholeSamples) {
  Field field(4);
  for (LayerOptions& layer : field.options.model.chain) {
    auto& convolution = std::get<kinds::Conv>(layer.kind);
    convolution.edges = Padding::reflect;
    convolution.transposed = true;
  }
  EXPECT_EQ(field.chosen(plenty, 2), (Space{1, 1}));
  EXPECT_TRUE(test::refuses(errors::does_not_fit, {"whole samples", "mesh.space = \"auto\"", "reflect"},
                            [&] { static_cast<void>(field.chosen(1 << 16, 2)); }));
  EXPECT_TRUE(test::refuses(errors::keys_conflict, {"mesh.space = \"auto\"", "data.shape"}, [&] {
    MemoryProblem problem = Field(4).problem(plenty);
    problem.network.options.model.shape.clear();
    static_cast<void>(choose_space(problem, 2));
  }));
}

TEST(SampleDivision, ASmallerMicroBatchComesBeforeMoreBoxes) {
  Field field(8);
  const std::size_t whole = field.min_budget({1, 1}, 2);
  EXPECT_EQ(field.chosen(whole - 4096, 2), (Space{1, 2}));
  field.options.memory.on_oom = OutOfMemory::shrink;
  EXPECT_EQ(field.chosen(whole - 4096, 2), (Space{1, 1}));
}

}  // namespace mylos::sample_division_test
