// What a plan says of its GEMMs is what computes them, now and at a restart.
#include "mylos/train/plan/engine_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "train/engines.hpp"
#include "train/synthetic.hpp"

namespace mylos::engine_choice_test {

using namespace testing_support;  // NOLINT

struct Machine {
  Options options;
  std::unique_ptr<EngineSet> engines;

  explicit Machine(const Options& given) : options(given), engines(make_engines(given.kernels)) {}
  [[nodiscard]] MemoryProblem problem() const {
    return {.network = plan_network(options, 0, 1),
            .engines = *engines,
            .processes = {},
            .data = nullptr,
            .budget = std::size_t{1} << 30};
  }
};

/// Tiles are its alternative.
bool has_onednn() {
  const auto names = gemm_engine_names();
  return std::ranges::find(names, "onednn") != names.end();
}

Options measuring(DType type = DType::fp32) {
  Options options = small_options(type);
  options.kernels.gemm = GemmChoice::measure;
  return options;
}

std::vector<std::string> names_in(const PlannedEngines& engines) {
  std::vector<std::string> names;
  for (const PlannedEngine& gemm : engines.gemms) names.push_back(gemm.engine);
  return names;
}

/// The other of the two for every GEMM.
PlannedEngines turned(PlannedEngines engines) {
  for (PlannedEngine& gemm : engines.gemms) gemm.engine = gemm.engine == "tiles" ? "onednn" : "tiles";
  return engines;
}

TEST(EngineChoice, IsMeasuredOnceAndKept) {
  const Machine first(measuring());
  if (!has_onednn()) GTEST_SKIP() << "no oneDNN in this build";
  EXPECT_THAT(choose_engines(first.problem(), {}), testing::HasSubstr("measured in"));
  const PlannedEngines chosen = turned(engines_in_use(first.problem()));  // whatever is faster now
  EXPECT_GE(chosen.gemms.size(), 8u);  // three layers, the first without dx

  const Machine second(measuring());
  EXPECT_EQ(choose_engines(second.problem(), chosen), "") << "nothing is left to measure";
  EXPECT_EQ(names_in(engines_in_use(second.problem())), names_in(chosen));

  const Machine third(measuring());
  take_engines(third.engines->gemm(), chosen);
  EXPECT_EQ(names_in(engines_in_use(third.problem())), names_in(chosen));
}

TEST(EngineChoice, MeasuresOnlyWhatIsMissing) {
  const Machine machine(measuring());
  if (!has_onednn()) GTEST_SKIP() << "no oneDNN in this build";
  const PlannedEngines all = turned(engines_in_use(machine.problem()));
  PlannedEngines known = all;
  known.gemms.resize(known.gemms.size() - 2);
  EXPECT_THAT(choose_engines(machine.problem(), known), testing::StartsWith("engines of 2 GEMMs"));
  const std::vector<std::string> now = names_in(engines_in_use(machine.problem()));
  for (std::size_t i = 0; i < known.gemms.size(); ++i) EXPECT_EQ(now[i], known.gemms[i].engine) << i;
}

TEST(EngineChoice, OfOtherInstructionsIsMeasuredAnew) {
  const Machine machine(measuring());
  if (!has_onednn()) GTEST_SKIP() << "no oneDNN in this build";
  PlannedEngines known = engines_in_use(machine.problem());
  known.instructions = "those of a machine of tomorrow";
  EXPECT_THAT(choose_engines(machine.problem(), known), testing::HasSubstr("measured in"));
}

TEST(EngineChoice, IsTheTablesUnlessTheDeckSaysMeasure) {
  Options options = measuring();
  options.kernels.gemm = GemmChoice::automatic;
  const Machine machine(options);
  const std::vector<std::string> before = names_in(engines_in_use(machine.problem()));
  const PlannedEngines other = turned(engines_in_use(machine.problem()));
  EXPECT_EQ(choose_engines(machine.problem(), other), "");
  take_engines(machine.engines->gemm(), other);
  EXPECT_EQ(names_in(engines_in_use(machine.problem())), before);
}

TEST(EngineChoice, TravelsInThePlanToEveryRank) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const Machine machine(measuring());
  if (!has_onednn()) GTEST_SKIP() << "no oneDNN in this build";
  MemoryProblem problem = machine.problem();
  problem.network = plan_network(machine.options, ranks.rank(), ranks.size());
  PlannedEngines known = turned(engines_in_use(problem));
  int measured = 0;
  const auto line = [&](const std::string& text) { measured += text.find("measured") != std::string::npos; };
  const MemoryPlan plan =
      share_plan(problem, ranks, "the plan of rank 0",
                 {.choose = [&](const MemoryProblem& own) { return new_plan(own, known, line); }});
  EXPECT_EQ(measured, 0);
  EXPECT_EQ(names_in(plan.engines), names_in(known));
  EXPECT_EQ(names_in(engines_in_use(problem)), names_in(known)) << "and computes by them";
}

TEST(RoundingNote, NamesWhatDiffers) {
  if constexpr (!memory_is_host) GTEST_SKIP() << "a device's GEMMs do not go by the host's instructions";
  const GemmProblem y = linear_output(8, 4, 2, DType::bf16);
  const GemmProblem dx = linear_input_gradient(8, 4, 2, DType::bf16);
  const PlannedEngines before{.instructions = "avx512-bf16", .gemms = {{y, "onednn"}, {dx, "tiles"}}};
  EXPECT_EQ(rounding_note(before, before), "");
  EXPECT_EQ(rounding_note({}, before), "") << "nothing is known of an earlier version's plan";

  PlannedEngines now = before;
  now.instructions = "avx2";
  EXPECT_EQ(rounding_note(before, now),
            "GEMMs ran by avx512-bf16 before, and run by avx2 here: sums may be rounded differently");
  now = before;
  now.gemms[1].engine = "onednn";
  now.gemms.push_back({linear_output(9, 4, 2, DType::bf16), "tiles"});  // of another micro-batch
  EXPECT_EQ(rounding_note(before, now),
            "GEMMs run dx 8 x 4 x 2 by tiles before and by onednn here: sums may be rounded differently");
}

TEST(ThreadNote, IsOfGemmsAndConvolutionsByOneDnn) {
  const GemmProblem y = linear_output(8, 4, 2, DType::bf16);
  const GemmProblem dx = linear_input_gradient(8, 4, 2, DType::bf16);
  const PlannedEngines one{.instructions = "avx2", .gemms = {{y, "onednn"}, {dx, "tiles"}}, .threads = 1};
  PlannedEngines two = one;
  two.threads = 2;
  EXPECT_EQ(thread_note(one, one), "");
  EXPECT_EQ(thread_note(one, two),
            "GEMMs by oneDNN ran on 1 thread of each rank before, and run on 2 here: sums may be rounded "
            "differently");
  PlannedEngines silent = one;
  silent.threads = 0;
  EXPECT_EQ(thread_note(silent, two), "") << "an earlier version's plan does not say";
  two.library_sums = true;
  EXPECT_TRUE(thread_note(one, two).starts_with("GEMMs and convolutions by oneDNN ran on 1 thread of"));
  two.gemms = {{y, "tiles"}, {dx, "kokkos"}};
  EXPECT_TRUE(thread_note(one, two).starts_with("convolutions by oneDNN ran on 1 thread of"));
  two.library_sums = false;
  EXPECT_EQ(thread_note(one, two), "");
}

TEST(ThreadNote, IsOfConvolutionsToo) {
  Options options;
  options.model.type = ModelType::unet;
  options.model.channels = {16, 32};
  options.model.shape = {16, 16, 1};
  options.model.inputs = options.model.outputs = 256;
  options.model.loss = losses::Mse{};
  options.data.batch = 4;
  const auto engines_of = [&](GemmChoice gemm) {
    options.kernels.gemm = gemm;
    const std::unique_ptr<EngineSet> engine = make_engines(options.kernels);
    const MemoryProblem problem{
        .network = plan_network(options, 0, 1), .engines = *engine, .processes = {}, .data = nullptr};
    return std::pair(engines_in_use(problem), engine->libraries().convolution != nullptr);
  };
  const auto [engines, has_library] = engines_of(GemmChoice::automatic);
  EXPECT_EQ(engines.library_sums, has_library && memory_is_host) << "its first layer sees one channel";
  if (!has_tiles()) return;
  EXPECT_FALSE(engines_of(GemmChoice::tiles).first.library_sums);
}

}  // namespace mylos::engine_choice_test
