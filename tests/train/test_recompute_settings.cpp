// What the rules of memory.recompute would save, and when a deck's rule is not worth its time.
#include "mylos/train/plan/recompute_settings.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "mylos/base/errors/units.hpp"
#include "train/memory_world.hpp"

namespace mylos::recompute_settings_test {

using namespace testing_support;  // NOLINT

/// Layers that store their inputs alone.
Options deep_mlp() {
  Options options = small_options(DType::fp32);
  options.model.hidden.assign(12, 64);
  options.model.activation = Activation::relu;
  options.model.norm = NormType::none;
  options.model.dropout = 0;
  options.data.batch = 256;
  return options;
}

MemoryPlan plan_of(const Options& options) {
  const World world(options);
  MemoryProblem problem = world.problem(std::size_t{1} << 40);
  problem.rates = fixed_rates();
  return plan_memory(problem);
}

std::string note_for(Options options, RecomputeMode mode, std::int64_t every = 0) {
  options.memory.recompute = mode;
  options.memory.every = every;
  return note_on_recompute(plan_of(options), options.memory);
}

TEST(RecomputeSettings, ARuleThatSavesLittleForMuchTimeIsWarnedOf) {
  const std::string note = note_for(deep_mlp(), RecomputeMode::all);
  EXPECT_TRUE(note.starts_with("warning: memory.recompute: recomputation lengthens a step by ")) << note;
  EXPECT_NE(note.find("; \"every 4\" saves "), std::string::npos) << note;
  for (const RecomputeMode mode : {RecomputeMode::automatic, RecomputeMode::none})
    EXPECT_EQ(note_for(deep_mlp(), mode), "");
  EXPECT_EQ(note_for(deep_mlp(), RecomputeMode::every, 4), "");
  Options gpt = small_gpt(DType::fp32);
  EXPECT_EQ(note_for(gpt, RecomputeMode::all), "") << "layers store much besides their inputs";
}

TEST(RecomputeSettings, TheTableHasThePlansOfTheRules) {
  const Options options = deep_mlp();
  std::istringstream lines(recompute_table(plan_of(options)));
  std::vector<std::string> names;
  std::string line;
  while (std::getline(lines, line)) {
    names.push_back(line.substr(2, line.find("  ", 2) - 2));
    if (names.back() != "\"every 4\"") continue;
    Options rule = options;
    rule.memory.recompute = RecomputeMode::every;
    rule.memory.every = 4;
    const auto bytes = static_cast<std::int64_t>(plan_of(rule).plan.placement.bytes);
    EXPECT_NE(line.find(format_bytes(bytes)), std::string::npos) << line;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"memory.recompute", "\"none\"", "\"every 2\"", "\"every 4\"",
                                             "\"every 10\"", "\"all\""}));
}

}  // namespace mylos::recompute_settings_test
