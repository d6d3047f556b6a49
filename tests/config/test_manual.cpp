// Agreement of the manual and of the decks in the repository with the schema.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/deck_builders.hpp"
#include "mylos/config/deck/manual.hpp"
#include "mylos/config/schema/schema.hpp"

namespace mylos::testing::manual_test {

const std::filesystem::path source = MYLOS_SOURCE_DIR;

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Manual, IsWhatTheSchemaSays) {
  EXPECT_TRUE(text_of(source / "docs/reference/deck.md") == deck_manual())
      << "docs/reference/deck.md is not what the schema says. Write it anew: build/host/bin/mylos manual > "
         "docs/reference/deck.md";
}

TEST(Manual, NamesEveryKeyOnce) {
  const std::string manual = deck_manual();
  for (const Section& section : schema().sections) {
    const auto start = manual.find("\n## [" + section.name + "]\n");
    ASSERT_NE(start, std::string::npos) << section.name;
    const std::string table = manual.substr(start, manual.find("\n## [", start + 1) - start);
    for (const Key& key : schema().keys) {
      const bool is_there = table.find("\n| `" + key.name + "` |") != std::string::npos;
      EXPECT_TRUE(is_there || key.section != section.name) << key.path();
    }
  }
}

TEST(Manual, StartsWithADeckThatReads) {
  const Deck deck = read_deck(example_deck(), "example", {});
  EXPECT_EQ(deck.options.model.hidden, (std::vector<std::int64_t>{256, 256}));
}

/// Overrides of the smallest deck with which the key has an effect.
std::vector<std::string> overrides_for(const Key& key) {
  const std::string half = "precision.compute=fp16";
  const std::vector<std::vector<std::string>> candidates{
      {},
      {"run.initial=base.h5"},
      {"model.hidden=[8]"},
      {"model.hidden=[8]", "model.norm=layernorm"},
      {"model.loss=huber"},
      {"model.loss=quantile"},
      {"model.loss=mse", "model.nonnegative=['rain']"},
      {"data.augment.crop=1"},
      {"data.augment.crop=1", "model.loss=mse"},
      {half},
      {half, "precision.scaler.hysteresis=2"},
      {half, "precision.scaler.backoff_window=9"},
      {"precision.adapt=true"},
      {"optimizer.type=sgd"},
      {"health.every=1"},
      {half, "health.on_divergence=rewind"},
      {"schedule.type=cosine"},
      {"schedule.type=wsd"},
      {"schedule.type=one_cycle"},
      {"schedule.type=step", "schedule.step_size=3"},
      {"schedule.type=cosine_restarts", "schedule.period=3"},
      {"data.arrays.inputs=['/u']", "data.arrays.targets=['/u']", "data.arrays.axes=time x",
       "model.loss=mse"},
      {"data.arrays.inputs=['/u']", "data.arrays.targets=['/u']", "data.arrays.axes=time x", "model.loss=mse",
       "rollout.steps=2"},
      {"model.type=gpt", "model.layers=1", "model.heads=1", "model.width=1", "model.context=1"},
      {"model.type=cnn", "model.channels=[8, 16]"},
      {"model.type=unet", "model.channels=[8, 16]"},
      {"model.type=unet", "model.channels=[8, 16]", "model.loss=relative_h1"},
      {"model.type=fno", "model.modes=4", "model.width=8"}};
  for (const auto& overrides : candidates) {
    std::vector<std::string> with_key = overrides;
    with_key.push_back(key.path() + '=' + key.default_text);
    if (message_with(with_key).empty()) return overrides;
  }
  ADD_FAILURE() << "no deck here in which " << key.path() << " has an effect";
  return {};
}

TEST(Manual, GivesDefaultsThatAreTheDefaults) {
  for (const Key& key : schema().keys) {
    if (key.default_text == "none" || key.name == "folder") continue;
    std::vector<std::string> overrides = overrides_for(key);
    const Options expected = read_with("", overrides).options;
    overrides.push_back(key.path() + '=' + key.default_text);
    EXPECT_EQ(read_with("", overrides).options, expected) << overrides.back();
  }
}

TEST(Inputs, AllRead) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(source / "inputs")) {
    if (file.path().extension() != ".toml") continue;
    EXPECT_NO_THROW((void)read_deck(file.path().string())) << file.path();
    ++count;
  }
  EXPECT_GE(count, 4);
}

TEST(Inputs, FashionDecksDifferInTheirTypeOnly) {
  const Options bf16 = read_deck((source / "inputs/fashion_mlp.toml").string());
  EXPECT_EQ(bf16.model.hidden, (std::vector<std::int64_t>{1024, 1024}));
  EXPECT_EQ(bf16.precision.compute, DType::bf16);
  for (const auto& [file, type] : {std::pair{"fp16", DType::fp16}, std::pair{"fp32", DType::fp32}}) {
    Options other = read_deck((source / "inputs/fashion_mlp_").string() + file + ".toml");
    EXPECT_EQ(other.precision.compute, type);
    other.precision.compute = bf16.precision.compute;
    other.run.name = bf16.run.name;
    other.run.folder = bf16.run.folder;
    EXPECT_EQ(other, bf16) << file;
  }
}

}  // namespace mylos::testing::manual_test
