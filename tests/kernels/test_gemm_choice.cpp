// The engine that computes a GEMM: from the table, from measurements, or from the checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "kernels/matrix.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/kernels/gemm/gemm_measure.hpp"
#include "mylos/kernels/gemm/gemm_ranked.hpp"

namespace mylos::gemm_choice_test {

constexpr DType types[] = {DType::fp32, DType::bf16, DType::fp16};

/// Skips its tests on machines without a choice; hosts with oneDNN have one.
class Choice : public testing::Test {
 protected:
  void SetUp() override {
    measuring_ = make_gemm_engine({.gemm = GemmChoice::measure});
    const auto names = gemm_engine_names();
    if (std::ranges::find(names, "onednn") == names.end()) GTEST_SKIP() << "no oneDNN in this build";
  }
  std::unique_ptr<GemmEngine> measuring_;
};

TEST_F(Choice, OfTheTableIsAlwaysTheSame) {
  const auto one = make_gemm_engine({});
  const auto other = make_gemm_engine({});
  for (const DType type : types) {
    for (const std::int64_t rows : {1, 100, 128, 1000}) {
      for (const GemmProblem& problem :
           {linear_output(rows, 300, 40, type), linear_input_gradient(rows, 300, 40, type),
            linear_weight_gradient(rows, 300, 40, type, type)}) {
        EXPECT_EQ(one->engine_of(problem), other->engine_of(problem));
        EXPECT_EQ(measuring_->engine_of(problem), one->engine_of(problem)) << "until it is told";
      }
    }
  }
}

TEST_F(Choice, OfHalfIsNeverALibraryThatHasNoneOfIt) {
  for (const GemmChoice choice : {GemmChoice::automatic, GemmChoice::measure, GemmChoice::onednn})
    EXPECT_EQ(make_gemm_engine({.gemm = choice})->engine_of(linear_output(512, 784, 2048, DType::fp16)),
              "tiles");
}

TEST_F(Choice, GoesForFewerSamplesOfTheSameLayerAlone) {
  for (const char* engine : {"tiles", "onednn"}) {
    const GemmProblem whole = linear_weight_gradient(64, 300, 200, DType::fp32, DType::fp32);
    const std::string before(measuring_->engine_of(linear_output(64, 300, 200, DType::fp32)));
    ASSERT_TRUE(measuring_->choose(whole, engine));
    EXPECT_EQ(measuring_->engine_of(whole), engine);
    EXPECT_EQ(measuring_->engine_of(linear_weight_gradient(17, 300, 200, DType::fp32, DType::fp32)), engine);
    GemmProblem added = whole;
    added.accumulate = true;
    EXPECT_EQ(measuring_->engine_of(added), engine);
    EXPECT_EQ(measuring_->sums_rows(whole), std::string_view(engine) == "tiles");
    EXPECT_EQ(measuring_->engine_of(linear_output(64, 300, 200, DType::fp32)), before) << "another form";
    const auto table = make_gemm_engine({});
    for (const GemmProblem& other : {linear_weight_gradient(65, 300, 200, DType::fp32, DType::fp32),
                                     linear_weight_gradient(64, 300, 199, DType::fp32, DType::fp32)})
      EXPECT_EQ(measuring_->engine_of(other), table->engine_of(other));
  }
}

TEST_F(Choice, TakesNoEngineThatIsNoAlternative) {
  EXPECT_FALSE(measuring_->choose(linear_output(8, 8, 8, DType::fp32), "kokkos"));
  EXPECT_FALSE(measuring_->choose(linear_output(8, 8, 8, DType::fp16), "onednn")) << "has none of half";
  EXPECT_FALSE(make_gemm_engine({})->choose(linear_output(8, 8, 8, DType::fp32), "tiles"));
}

TEST_F(Choice, GivesTheBitsOfTheEngineThatWasChosen) {
  const Execution exec;
  const GemmProblem problem = linear_output(70, 333, 90, DType::fp32);
  const test::Matrix a(DType::fp32, 70, 333, test::random_values(DType::fp32, 70 * 333, -1, 1, 1));
  const test::Matrix b(DType::fp32, 90, 333, test::random_values(DType::fp32, 90 * 333, -1, 1, 2));
  const auto gemm = [&](GemmEngine& engine) {
    const test::Matrix c(DType::fp32, 70, 90);
    const Arena workspace("workspace", engine.workspace_bytes(problem));
    engine.run(exec, problem, {a.tensor().data(), b.tensor().data(), c.tensor().data()}, workspace.data());
    exec.fence();
    return c.values();
  };
  for (const auto& [choice, name] :
       {std::pair{GemmChoice::tiles, "tiles"}, std::pair{GemmChoice::onednn, "onednn"}}) {
    ASSERT_TRUE(measuring_->choose(problem, name));
    EXPECT_EQ(gemm(*measuring_), gemm(*make_gemm_engine({.gemm = choice}))) << name;
  }
}

TEST_F(Choice, IsMadeForEveryGemmThatHasOne) {
  std::vector<GemmProblem> gemms;
  for (const DType type : types) {
    gemms.push_back(linear_output(96, 64, 48, type));
    gemms.push_back(linear_weight_gradient(96, 64, 48, type, DType::fp32));
    gemms.push_back(gemms.back());
    gemms.back().accumulate = true;  // is the same GEMM
  }
  std::size_t choices = 0;
  const auto alternatives = measuring_->alternatives();
  for (const GemmProblem& gemm : gemms) {
    const bool differ = alternatives.front()->engine_of(gemm) != alternatives.back()->engine_of(gemm);
    choices += differ && !gemm.accumulate ? 1 : 0;
  }
  EXPECT_GE(choices, 2u) << "of float at least";
  EXPECT_EQ(measure_gemms(Execution{}, *measuring_, gemms).gemms, choices);
  EXPECT_EQ(measure_gemms(Execution{}, *make_gemm_engine({}), gemms).gemms, 0u) << "nothing to choose";
}

/// Does nothing for a fixed time.
class Idle final : public GemmEngine {
 public:
  Idle(std::string name, int milliseconds) : name_(std::move(name)), milliseconds_(milliseconds) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 0; }
  void run(const Execution&, const GemmProblem&, const GemmOperands&, void*) override {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_));
  }
  int runs = 0;

 private:
  std::string name_;
  int milliseconds_;
};

class TwoIdle final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "two"; }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 0; }
  [[nodiscard]] std::vector<GemmEngine*> alternatives() override { return {&slow, &fast}; }
  bool choose(const GemmProblem&, std::string_view engine) override {
    chosen.emplace_back(engine);
    return true;
  }
  void run(const Execution&, const GemmProblem&, const GemmOperands&, void*) override {}

  Idle slow{"slow", 20};
  Idle fast{"fast", 1};
  std::vector<std::string> chosen;
};

TEST(MeasuredChoice, IsTheFasterAfterFewRunsWhereThatIsClear) {
  TwoIdle two;
  const GemmMeasurement measured = measure_gemms(
      Execution{}, two, {linear_output(64, 64, 64, DType::fp32), linear_output(32, 64, 64, DType::bf16)});
  EXPECT_EQ(measured.gemms, 2u);
  EXPECT_GT(measured.seconds, 0);
  EXPECT_THAT(two.chosen, testing::ElementsAre("fast", "fast"));
  EXPECT_LE(two.slow.runs, 2 * 11) << "one warms up, and a few tell";
}

TEST(RankedGemm, ComputesEachGemmByTheAlgorithmThatWasFastest) {
  std::vector<std::unique_ptr<GemmEngine>> algorithms;
  std::vector<const Idle*> idle;
  for (const auto& [name, milliseconds] :
       {std::pair{"advised", 12}, std::pair{"second", 1}, std::pair{"third", 8}}) {
    auto engine = std::make_unique<Idle>(name, milliseconds);
    idle.push_back(engine.get());
    algorithms.push_back(std::move(engine));
  }
  const auto ranked = make_ranked_gemm("measured", std::move(algorithms));
  const GemmProblem whole = linear_output(64, 64, 64, DType::bf16);
  EXPECT_EQ(ranked->engine_of(whole), "advised") << "until somebody chooses";
  EXPECT_EQ(measure_gemms(Execution{}, *ranked, {whole}).gemms, 1u);
  EXPECT_EQ(ranked->engine_of(whole), "second");
  EXPECT_EQ(ranked->engine_of(linear_output(3, 64, 64, DType::bf16)), "second") << "a ragged batch of it";
  EXPECT_EQ(ranked->engine_of(linear_output(64, 64, 65, DType::bf16)), "advised") << "nobody chose";
  const int before = idle[1]->runs;
  ranked->run(Execution{}, whole, {}, nullptr);
  EXPECT_EQ(idle[1]->runs, before + 1);
  EXPECT_TRUE(ranked->choose(whole, "third")) << "as a checkpoint says";
  EXPECT_EQ(ranked->engine_of(whole), "third");
  EXPECT_FALSE(ranked->choose(whole, "of another version"));
  EXPECT_EQ(ranked->engine_of(whole), "third");
}

TEST(RankedGemm, TimesAnAlgorithmOnceWhereSeveralEnginesUseIt) {
  std::vector<std::unique_ptr<GemmEngine>> algorithms;
  std::vector<const Idle*> idle;
  for (const char* const name : {"advised", "second", "advised", "second"}) {
    auto engine = std::make_unique<Idle>(name, 1);
    idle.push_back(engine.get());
    algorithms.push_back(std::move(engine));
  }
  const auto ranked = make_ranked_gemm("measured", std::move(algorithms));
  EXPECT_EQ(measure_gemms(Execution{}, *ranked, {linear_output(64, 64, 64, DType::bf16)}).gemms, 1u);
  EXPECT_GT(idle[0]->runs, 0);
  EXPECT_GT(idle[1]->runs, 0);
  EXPECT_EQ(idle[2]->runs, 0);
  EXPECT_EQ(idle[3]->runs, 0);
}

/// A device also sums rows where a layer needs that: two engines may differ in it alone.
TEST(MeasuredChoice, IncludesRowSumsOnDevicesOnly) {
  class Recording final : public GemmEngine {
   public:
    explicit Recording(std::string_view name) : name_(name) {}
    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 0; }
    void run(const Execution&, const GemmProblem& problem, const GemmOperands& operands, void*) override {
      EXPECT_EQ(problem.row_sums, operands.row_sums != nullptr);
      sums = problem.row_sums;
    }
    bool sums = false;

   private:
    std::string_view name_;
  };
  auto first = std::make_unique<Recording>("first");
  const Recording& seen = *first;
  std::vector<std::unique_ptr<GemmEngine>> engines;
  engines.push_back(std::move(first));
  engines.push_back(std::make_unique<Recording>("other"));
  const auto ranked = make_ranked_gemm("measured", std::move(engines));
  GemmProblem problem = linear_weight_gradient(64, 64, 64, DType::bf16, DType::bf16);
  problem.row_sums = true;
  measure_gemms(Execution{}, *ranked, {problem});
  EXPECT_EQ(seen.sums, !memory_is_host);
}

TEST(MeasuredChoice, ComputesOnlyAPartOfLargeGemmsOnHosts) {
  if (!memory_is_host) GTEST_SKIP() << "a device computes the whole";
  class Largest final : public GemmEngine {
   public:
    [[nodiscard]] std::string_view name() const override { return "largest"; }
    [[nodiscard]] std::string_view engine_of(const GemmProblem&) const override { return name_; }
    [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 0; }
    void run(const Execution&, const GemmProblem& problem, const GemmOperands&, void*) override {
      flops = std::max(flops, flops_of(problem));
    }
    explicit Largest(std::string_view name) : name_(name) {}
    double flops = 0;

   private:
    std::string_view name_;
  };
  class Two final : public GemmEngine {
   public:
    [[nodiscard]] std::string_view name() const override { return "two"; }
    [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 0; }
    [[nodiscard]] std::vector<GemmEngine*> alternatives() override { return {&one, &other}; }
    bool choose(const GemmProblem& problem, std::string_view) override {
      chosen.push_back(problem);
      return true;
    }
    void run(const Execution&, const GemmProblem&, const GemmOperands&, void*) override {}
    Largest one{"one"}, other{"other"};
    std::vector<GemmProblem> chosen;
  };
  Two two;
  std::vector<GemmProblem> gemms;
  for (std::int64_t rows = 40; rows < 60; ++rows)
    gemms.push_back(linear_output(rows * 1000, 768, 50304, DType::fp32));
  measure_gemms(Execution{}, two, gemms);
  EXPECT_EQ(two.chosen.size(), gemms.size());
  for (const GemmProblem& problem : two.chosen) EXPECT_EQ(problem.n, 50304) << "the choice is of the whole";
  EXPECT_LE(two.one.flops, 2e9);
  EXPECT_GT(two.one.flops, 0.2e9);
}

TEST(InstructionsInUse, StayWhereTheQuestionIsAskedWhatThereIs) {
  const auto names = gemm_engine_names();
  if (std::find(names.begin(), names.end(), "tiles") == names.end()) GTEST_SKIP() << "no tiles in this build";
  const Instructions before = instructions_in_use();
  const GemmProblem problem = linear_input_gradient(512, 1024, 1024, DType::bf16);
  const auto workspace = [&] {  // follows from the vectors
    return make_gemm_engine({.gemm = GemmChoice::tiles})->workspace_bytes(problem);
  };
  for (const Instructions each : available_instructions()) {
    use_instructions(each);
    const std::size_t expected = workspace();
    static_cast<void>(available_instructions());
    EXPECT_EQ(workspace(), expected) << name_of(each);
  }
  use_instructions(before);
}

TEST(UsableOptions, LeaveOutWhatIsNotHere) {
  const std::vector<Instructions> here = available_instructions();
  for (const Instructions each : {Instructions::avx2, Instructions::sve}) {
    const bool has = std::find(here.begin(), here.end(), each) != here.end();
    const KernelOptions usable = usable_here({.instructions = each});
    EXPECT_EQ(usable.instructions.has_value(), has) << name_of(each);
  }
  const auto names = gemm_engine_names();
  const bool has_cublaslt = std::find(names.begin(), names.end(), "cublaslt") != names.end();
  EXPECT_EQ(usable_here({.gemm = GemmChoice::cublaslt}).gemm,
            has_cublaslt ? GemmChoice::cublaslt : GemmChoice::automatic);
  EXPECT_EQ(usable_here({.gemm = GemmChoice::measure}).gemm, GemmChoice::measure);
}

}  // namespace mylos::gemm_choice_test
