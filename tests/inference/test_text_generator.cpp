#include "mylos/inference/text_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/small_gpt.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos::text_generator_test {

class TextGeneratorTest : public testing::Test {
 protected:
  void build(PositionType positions) {
    options.positions = positions;
    model =
        std::make_unique<TrainingModel>(make_gpt(options, {}, 1, false), *engines, 1, 1 << 20, 1, Schedule{});
    test::set_lively_weights(model->parameters());
  }
  [[nodiscard]] InferenceContext context() { return {exec, *engines, *model}; }

  std::vector<std::int32_t> generate(std::size_t count, const DrawOptions& draw) {
    TextGenerator generator(context(), options, vocabulary, prompt, draw);
    std::vector<std::int32_t> tokens;
    while (tokens.size() < count) tokens.push_back(generator.next());
    return tokens;
  }

  /// Without a cache: the whole window through the network for every token.
  std::vector<std::int32_t> generate_by_windows(std::size_t count) {
    const auto room = static_cast<std::size_t>(options.context);
    std::vector<std::int32_t> window(
        prompt.end() - static_cast<std::ptrdiff_t>(std::min(prompt.size(), room)), prompt.end());
    std::vector<std::int32_t> tokens;
    while (tokens.size() < count) {
      if (window.size() > room) window = {window.end() - static_cast<std::ptrdiff_t>(room / 2), window.end()};
      std::vector<std::int32_t> filled = window;
      filled.resize(room, 0);  // attention looks back only: what lies behind the window does not matter
      const test::TokenArray array(filled);
      const StepContext step{.exec = exec, .engines = *engines, .training = false};
      model->forward(step, array.tensor());
      const std::vector<float> logits =
          test::values_of(model->head_outputs(step, static_cast<std::int64_t>(window.size()) - 1, 1));
      const auto largest = std::max_element(logits.begin(), logits.begin() + vocabulary);
      tokens.push_back(static_cast<std::int32_t>(largest - logits.begin()));
      window.push_back(tokens.back());
    }
    return tokens;
  }

  Execution exec;
  std::unique_ptr<EngineSet> engines = make_engines({});
  ModelOptions options = test::small_gpt_options();
  std::int64_t vocabulary = options.vocabulary - 3;  // the model's is padded
  std::vector<std::int32_t> prompt{3, 1};
  std::unique_ptr<TrainingModel> model;
};

TEST_F(TextGeneratorTest, GreedyTextIsThatOfWholeWindowsPastAFullContext) {
  options.context = 9;
  for (const PositionType positions : {PositionType::learned, PositionType::rotary}) {
    build(positions);
    for (const std::size_t length : {1u, 2u, 8u, 9u, 10u, 30u}) {
      prompt = test::drawn_tokens(length, static_cast<std::int32_t>(vocabulary), 11);
      EXPECT_EQ(generate(40, {.temperature = 0}), generate_by_windows(40)) << length;
    }
  }
}

TEST_F(TextGeneratorTest, ContextOfOneToken) {
  options.context = 1;
  build(PositionType::learned);
  EXPECT_EQ(generate(10, {.temperature = 0}).size(), 10u);
}

TEST_F(TextGeneratorTest, SeedsRepeatAndDiffer) {
  build(PositionType::learned);
  const auto first = generate(60, {.temperature = 1, .seed = 1});
  EXPECT_EQ(first, generate(60, {.temperature = 1, .seed = 1}));
  EXPECT_NE(first, generate(60, {.temperature = 1, .seed = 2}));
}

TEST_F(TextGeneratorTest, TheLikeliestOneIsGreedy) {
  build(PositionType::rotary);
  EXPECT_EQ(generate(30, {.temperature = 2, .top_k = 1}), generate(30, {.temperature = 0}));
}

TEST_F(TextGeneratorTest, NeverDrawsPaddedClasses) {
  build(PositionType::learned);
  for (const std::int32_t token : generate(400, {.temperature = 50})) EXPECT_LT(token, vocabulary);
}

TEST_F(TextGeneratorTest, RefusesPromptsThatCannotBeRead) {
  build(PositionType::learned);
  prompt = {};
  EXPECT_THROW((void)generate(1, {}), Error);
  prompt = {1, static_cast<std::int32_t>(vocabulary)};
  EXPECT_THROW((void)generate(1, {}), Error);
}

}  // namespace mylos::text_generator_test
