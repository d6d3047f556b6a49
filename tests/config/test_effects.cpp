// Keys that have no effect in combination with others: refused in a deck and on the command line, omitted
// from the resolved deck, and accepted in checkpoints of versions that wrote them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/config/schema/schema.hpp"
#include "support/said.hpp"

namespace mylos::testing::effects_test {

struct Case {
  std::string key;
  std::string beside;  // lines with which it has no effect, in addition to the smallest deck's
  std::string fix;     // an override that gives it one
};

const std::vector<Case>& cases() {
  static const std::string half = "precision.compute=fp16";
  static const std::vector<Case> all{
      {"optimizer.nesterov = true", "", "optimizer.type=sgd"},
      {"optimizer.momentum = 0.9", "", "optimizer.type=sgd"},
      {"optimizer.betas = [0.9, 0.99]", "optimizer.type = 'sgd'", "optimizer.type=lion"},
      {"optimizer.epsilon = 1e-6", "optimizer.type = 'lion'", "optimizer.type=adam"},
      {"schedule.milestones = [3, 5]", "", "schedule.type=multistep"},
      {"schedule.step_size = 3", "schedule.type = 'cosine'", "schedule.type=step"},
      {"schedule.period = 9", "", "schedule.type=cosine_restarts"},
      {"schedule.factor = 0.5", "", ""},
      {"schedule.final_lr = 0", "", "schedule.type=wsd"},
      {"schedule.decay_share = 0.2", "schedule.type = 'linear'", "schedule.type=wsd"},
      {"schedule.power = 2", "schedule.type = 'linear'", "schedule.type=polynomial"},
      {"schedule.rise_share = 0.2", "", "schedule.type=one_cycle"},
      {"schedule.steps = 50", "", "schedule.type=linear"},
      {"precision.scaler.initial_scale = 1024", "", half},
      {"precision.scaler.preset = 'aggressive'", "precision.scaler.mode = 'off'",
       "precision.scaler.mode=static"},
      {"precision.scaler.growth_interval = 5", "precision.scaler.mode = 'static'",
       "precision.scaler.mode=dynamic"},
      {"precision.scaler.growth_factor = 3", "", "precision.rules.head=fp16"},
      {"precision.scaler.hysteresis_refill = 'growth'", "precision.compute = 'fp16'",
       "precision.scaler.hysteresis=2"},
      {"precision.scaler.backoff_overflows = 2", "precision.compute = 'fp16'",
       "precision.scaler.backoff_window=9"},
      {"precision.adaptation.every = 9", "", "precision.adapt=true"},
      {"health.rewinds = 2", "", "health.on_divergence=rewind"},
      {"health.rewind_lr_factor = 0.5", "", "health.on_divergence=rewind"},
      {"health.rewind_float = true", "health.on_divergence = 'rewind'", half},
      {"health.on_divergence = 'rewind'", "checkpoint.every = 0", "checkpoint.every=7"},
      {"health.ignore = ['head']", "", "health.every=1"},
      {"health.high_norm = 5", "optimizer.clip_norm = 1", "optimizer.clip_norm=0"},
      {"data.augment.crop_fill = 'edge'", "", "data.augment.crop=1"},
      {"data.augment.targets = 'keep'", "model.loss = 'mse'", "data.augment.rotate=true"},
      {"model.dropout = 0.1", "model.hidden = []", "model.hidden=[4]"},
      {"model.activation = 'tanh'", "", "model.hidden=[4]"},
      {"model.norm_first = true", "model.hidden = [4]", "model.norm=layernorm"},
      {"model.huber_delta = 1", "model.loss = 'mse'", "model.loss=huber"},
      {"checkpoint.keep_every = 5", "checkpoint.keep_last = 0", "checkpoint.keep_last=1"},
      {"initial.missing = 'draw'", "", "run.initial=a.h5"},
      {"kernels.graphs = true", "run.reproducible = true\ndata.batch = 8\ndata.micro_batch = 2",
       "run.reproducible=false"}};
  return all;
}

std::string text_of(const Case& one) {
  return std::string(smallest) + one.beside + '\n' + one.key + '\n';
}

std::string line_of(const Case& one) {
  const std::string text = text_of(one);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return fmt::format("deck.toml:{}: ", lines);
}

std::string name_of(const Case& one) {
  return one.key.substr(0, one.key.find(' '));
}

TEST(KeyWithoutEffect, IsRefusedWithItsLineAndWhatWouldGiveItOne) {
  for (const Case& one : cases()) {
    const std::string said = message_of(text_of(one));
    EXPECT_EQ(said.find(line_of(one) + '\'' + name_of(one) + '\''), 0U) << one.key << ": " << said;
    const Condition* unmet =
        schema().find_key(name_of(one))->unmet(read_stored_deck(text_of(one), "x").options);
    ASSERT_NE(unmet, nullptr) << one.key;
    EXPECT_TRUE(test::says(said, errors::key_without_effect, {unmet->text}));
    if (!one.fix.empty()) {
      EXPECT_EQ(message_of(text_of(one), {one.fix}), "") << one.key << " with " << one.fix;
    }
  }
}

TEST(KeyWithoutEffect, OfTheCommandLineIsRefusedLikeThatOfADeck) {
  EXPECT_TRUE(test::says(message_with({"optimizer.momentum=0.5"}), errors::key_without_effect,
                         {"'optimizer.momentum'", "optimizer.type", "\"sgd\"", "\"adamw\""}));
  EXPECT_TRUE(
      test::says(message_of(std::string(smallest) + "optimizer.type = 'sgd'\noptimizer.momentum = 0.5",
                            {"optimizer.type=adam"}),
                 errors::key_without_effect,
                 {"deck.toml:4:", "'optimizer.momentum'", "optimizer.type", "\"sgd\"", "\"adam\""}));
}

TEST(KeyWithoutEffect, IsReadFromACheckpointAndLeftOutOfWhatIsResolved) {
  for (const Case& one : cases()) {
    const Deck stored = read_stored_deck(text_of(one), "step.h5");
    EXPECT_EQ(message_of(stored.resolved), "") << one.key << '\n' << stored.resolved;
    const std::string again = read_deck(stored.resolved, "resolved.toml", {}).resolved;  // with defaults
    EXPECT_EQ(read_deck(again, "resolved.toml", {}).resolved, again) << one.key;
  }
}

TEST(Resolved, HasABlockForEachTableOfAList) {
  const std::string text =
      "[model]\ntype = 'chain'\n[[model.layers]]\nkind = 'dense'\noutputs = 3\nactivation = 'relu'\n"
      "[[model.layers]]\nkind = 'dense'\n[[optimizer.groups]]\nmatch = 'dense1/*'\nlr_factor = 0.5\n";
  const Deck deck = read_with(text);
  EXPECT_NE(deck.resolved.find("\n[[model.layers]]\nkind = \"dense\"\noutputs = 3\nactivation = \"relu\"\n\n"
                               "[[model.layers]]\nkind = \"dense\"\n\n[precision]\n"),
            std::string::npos)
      << deck.resolved;
  EXPECT_NE(deck.resolved.find("\n[[optimizer.groups]]\nmatch = [\"dense1/*\"]\nlr_factor = 0.5\n"),
            std::string::npos)
      << deck.resolved;
  EXPECT_EQ(read_deck(deck.resolved, "resolved.toml", {}).options, deck.options);
}

TEST(Schema, DeclaresConditionsOnKeysThatThereAre) {
  for (const Key& key : schema().keys) {
    for (const Condition& condition : key.only_with) {
      EXPECT_FALSE(condition.text.empty()) << key.path();
      for (const std::string& other : condition.keys)
        EXPECT_NE(schema().find_key(other), nullptr) << key.path() << " needs " << other;
    }
  }
}

}  // namespace mylos::testing::effects_test
