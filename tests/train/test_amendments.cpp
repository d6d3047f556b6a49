// What a run changed of its own deck: what it makes of the options, of a deck's text, and of a stranger's.
#include "mylos/train/history/amendments.hpp"

#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/config/deck.hpp"
#include "support/refusal.hpp"

namespace mylos {
namespace {

constexpr const char* deck =
    "[run]\nsteps = 10\n[model]\ninputs = 3\noutputs = 2\nhidden = [4]\n"
    "[precision]\ncompute = \"fp16\"\nrules = { hidden1 = \"bf16\", \"*\" = \"fp16\" }\n"
    "[optimizer]\nlr = 0.03\n[schedule]\ntype = \"cosine\"\nfinal_lr = 0.001\n";

Amendment some_return() {
  return {.decision = {7, "rewind", "loss jump", "hidden1", "a \"jump\"; back to step 5\n\xc3\xa4"},
          .from = 5,
          .lr_factor = 0.3,
          .scale_factor = 0.0625,
          .float_layer = "hidden1"};
}

Amendment some_adaptation() {
  return {.decision = {0, "adaptation", "trial", "", "float is as fast"},
          .compute = DType::fp32,
          .growth_interval = 4000,
          .growth_factor = 1.5};
}

TEST(Amendments, ChangeTheOptionsInTheirOrder) {
  const Options given = read_deck(deck, "deck", {}).options;
  const Options changed = amended(given, {some_return(), some_return(), some_adaptation()});
  EXPECT_DOUBLE_EQ(changed.optimizer.lr, 0.03 * 0.3 * 0.3);
  EXPECT_DOUBLE_EQ(changed.schedule.final_lr, 0.001 * 0.3 * 0.3);
  EXPECT_EQ(changed.precision.compute, DType::fp32);
  EXPECT_EQ(changed.precision.scaler.growth_interval, 4000);
  EXPECT_EQ(changed.precision.scaler.growth_factor, 1.5);
  const std::vector<PrecisionRule> rules{{"*", DType::fp16}, {"hidden1", DType::fp32}};
  EXPECT_EQ(changed.precision.rules, rules) << "in place of the deck's own rule";
  EXPECT_EQ(amended(given, {}), given);
}

TEST(Amendments, ChangeADeckAsTheyChangeItsOptions) {
  const Deck given = read_deck(deck, "deck", {});
  const Amendments amendments{some_return(), some_adaptation()};
  EXPECT_EQ(amended_deck(given.resolved, {}), given.resolved);
  EXPECT_EQ(read_stored_deck(amended_deck(given.resolved, amendments), "here").options,
            amended(given.options, amendments));
}

TEST(Amendments, ComeBackFromTheirLines) {
  const Amendments amendments{some_return(), some_adaptation()};
  EXPECT_EQ(read_amendments(amendment_line(amendments[0]) + amendment_line(amendments[1]), "here"),
            amendments);
  EXPECT_EQ(read_amendments("", "here"), Amendments{});
}

std::string line_with(const std::string& member) {
  return R"({"step":1,"kind":"rewind","cause":"","subject":"","text":"","from":1)" + member + "}\n";
}

testing::AssertionResult refuses(const std::string& text) {
  return test::refuses(errors::damaged, {"here: "}, [&] { (void)read_amendments(text, "here"); });
}

TEST(Amendments, OfAStrangerAreRefused) {
  EXPECT_EQ(read_amendments(line_with(""), "here").size(), 1u);
  for (const char* member :
       {",\"lr_factor\":0", ",\"lr_factor\":-1", ",\"lr_factor\":2", ",\"lr_factor\":1e999",
        ",\"lr_factor\":\"a\"", ",\"scale_factor\":0", ",\"scale_factor\":null", ",\"float_layer\":\"*\"",
        ",\"float_layer\":\"a\\nb\"", ",\"float_layer\":3", ",\"compute\":\"fp8\"", ",\"compute\":16",
        ",\"growth_interval\":0", ",\"growth_interval\":-5", ",\"growth_factor\":1",
        ",\"growth_factor\":1e9"})
    EXPECT_TRUE(refuses(line_with(member))) << member;
  for (const char* text : {"x", "{}\n", "[1]\n", "\n"}) EXPECT_TRUE(refuses(text)) << text;
  std::string many;
  for (std::size_t i = 0; i <= max_amendments; ++i) many += line_with("");
  EXPECT_TRUE(refuses(many));
}

}  // namespace
}  // namespace mylos
