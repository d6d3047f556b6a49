// The compute type of each layer.
#include <gtest/gtest.h>

#include "mylos/precision/policy.hpp"

namespace mylos::policy_test {

constexpr auto fp32 = DType::fp32;
constexpr auto fp16 = DType::fp16;
constexpr auto bf16 = DType::bf16;

DType type_of(std::vector<PrecisionRule> rules, std::string_view name, std::string_view kind = "linear") {
  PrecisionOptions options;
  options.compute = bf16;
  options.rules = std::move(rules);
  return compute_type(options, name, kind);
}

TEST(Policy, WithoutARuleTheDecksTypeHolds) {
  EXPECT_EQ(type_of({}, "hidden1"), bf16);
  EXPECT_EQ(type_of({{"head", fp32}, {"norm*", fp32}, {"layernorm", fp32}}, "hidden1"), bf16);
}

TEST(Policy, ExactNameBeatsPatternBeatsKindInAnyOrder) {
  const PrecisionRule exact{"hidden1", fp32};
  const PrecisionRule pattern{"hidden*", fp16};
  const PrecisionRule kind{"linear", bf16};
  for (const auto& rules : {std::vector{exact, pattern, kind},
                            {kind, pattern, exact},
                            {pattern, exact, kind},
                            {exact, kind, pattern},
                            {kind, exact, pattern},
                            {pattern, kind, exact}}) {
    EXPECT_EQ(type_of(rules, "hidden1"), fp32);
    EXPECT_EQ(type_of(rules, "hidden2"), fp16);
    EXPECT_EQ(type_of(rules, "head"), bf16);
  }
}

TEST(Policy, AmongEqualsTheLaterLineWins) {
  EXPECT_EQ(type_of({{"hidden*", fp16}, {"*1", fp32}}, "hidden1"), fp32);
  EXPECT_EQ(type_of({{"*1", fp32}, {"hidden*", fp16}}, "hidden1"), fp16);
  EXPECT_EQ(type_of({{"hidden1", fp16}, {"hidden1", fp32}}, "hidden1"), fp32);
  EXPECT_EQ(type_of({{"linear", fp16}, {"linear", fp32}}, "hidden1"), fp32);
}

TEST(Policy, AKindNamesItsLayersOnly) {
  const std::vector<PrecisionRule> rules{{"layernorm", fp32}};
  EXPECT_EQ(type_of(rules, "norm1", "layernorm"), fp32);
  EXPECT_EQ(type_of(rules, "hidden1", "linear"), bf16);
}

TEST(Policy, StarStandsForAnyCharacters) {
  struct Case {
    std::string_view pattern, text;
    bool matches;
  };
  for (const Case& test : {Case{"*", "", true},
                           {"*", "head", true},
                           {"", "", true},
                           {"", "a", false},
                           {"head", "head", true},
                           {"head", "head1", false},
                           {"head", "hea", false},
                           {"hidden*", "hidden12", true},
                           {"hidden*", "hidden", true},
                           {"hidden*", "hidde", false},
                           {"hidden*", "ahidden1", false},
                           {"*norm", "layernorm", true},
                           {"*norm", "norm1", false},
                           {"block*norm", "block3.norm", true},
                           {"block*norm", "blocknorm", true},
                           {"block*norm", "block", false},
                           {"a*a", "a", false},
                           {"a*b*c", "axbxbxc", true},
                           {"a*b*c", "acb", false},
                           {"**", "x", true},
                           {"*ab*ab", "abab", true},
                           {"*ab*ab", "aab", false},
                           {"a**", "a", true},
                           {"norm.*", "norm1", false},
                           {"norm.*", "norm.1", true}}) {
    EXPECT_EQ(matches_pattern(test.pattern, test.text), test.matches) << test.pattern << " and " << test.text;
  }
}

TEST(Policy, ManyStarsTakeNoLongerThanFew) {
  std::string dots, pattern;
  for (int i = 0; i < 1000; ++i) dots += ".";
  for (int i = 0; i < 100; ++i) pattern += "*.";
  EXPECT_FALSE(matches_pattern(pattern + "*x", dots)) << "trying all ways would not end";
  EXPECT_TRUE(matches_pattern(pattern, dots));
}

TEST(Policy, ANameTakesWhatStarsHaveMatched) {
  struct Case {
    const char* from;
    const char* to;
    const char* text;
    std::optional<std::string> result;
  };
  for (const auto& test : std::vector<Case>{{"a", "b", "a", "b"},
                                            {"a", "b", "aa", std::nullopt},
                                            {"h.*.w", "layer*/weight", "h.12.w", "layer12/weight"},
                                            {"*.*", "*/*", "a.b.c", "a/b.c"},
                                            {"*.*", "x/*", "a.b", "x/a"},
                                            {"*", "*", "", ""},
                                            {"a*b*c", "*-*", "axbxbxc", "x-xbx"},
                                            {"a*b*c", "*-*", "acb", std::nullopt},
                                            {"*tail", "head*", "longtailtail", "headlongtail"}}) {
    EXPECT_EQ(renamed(test.from, test.to, test.text), test.result) << test.from << " and " << test.text;
  }
}

TEST(Policy, GradientsAreKeptInFloatAsSoonAsTheyAccumulate) {
  for (const DType compute : {fp32, fp16, bf16}) {
    EXPECT_EQ(gradient_type(GradientType::automatic, compute, false), compute);
    EXPECT_EQ(gradient_type(GradientType::automatic, compute, true), fp32);
    EXPECT_EQ(gradient_type(GradientType::compute, compute, true), compute);
    EXPECT_EQ(gradient_type(GradientType::compute, compute, false), compute);
    EXPECT_EQ(gradient_type(GradientType::fp32, compute, false), fp32);
  }
}

}  // namespace mylos::policy_test
