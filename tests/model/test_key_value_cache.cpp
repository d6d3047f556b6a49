// Inference token by token with cached keys and values gives the logits of the complete window, up to
// rounding.
#include <gtest/gtest.h>

#include "model/small_gpt.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/chain/key_value_cache.hpp"

namespace mylos::key_value_cache_test {

class KeyValueCacheTest : public testing::Test {
 protected:
  void build(const ModelOptions& options, DType type) {
    PrecisionOptions precision;
    precision.compute = type;
    model = std::make_unique<TrainingModel>(make_gpt(options, precision, 1, false), *engines, 1, 1 << 20, 1,
                                            Schedule{});
    test::set_lively_weights(model->parameters());
    cache = std::make_unique<KeyValueCache>(options, model->chain());
  }
  std::vector<float> logits(std::int64_t first, std::int64_t count, bool cached) {
    const StepContext context{
        .exec = exec, .engines = *engines, .training = false, .cache = cached ? cache.get() : nullptr};
    model->forward(context, tokens.tensor().row_range(first, count));
    return test::values_of(model->head_outputs(context, 0, count));
  }

  Execution exec;
  std::unique_ptr<EngineSet> engines = make_engines({});
  std::unique_ptr<TrainingModel> model;
  std::unique_ptr<KeyValueCache> cache;
  test::TokenArray tokens{test::drawn_tokens(5, 13, 4)};
};

TEST_F(KeyValueCacheTest, GivesTheLogitsOfTheWholeWindow) {
  for (const PositionType positions : {PositionType::learned, PositionType::rotary}) {
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
      ModelOptions options = test::small_gpt_options();
      options.positions = positions;
      options.dropout = 0.5;  // not in evaluation
      build(options, type);
      const std::vector<float> expected = logits(0, 5, false);
      // Both round at the same points, about 30 in sequence; logits have magnitude 4.
      // In float these are sums of at most 32 terms, with four roundings each.
      const double u = test::unit_roundoff_of(type) * (type == DType::fp32 ? 32 + 4 : 1);
      for (const std::int64_t prompt : {1, 3}) {
        cache->clear();
        std::vector<float> found = logits(0, prompt, true);
        for (std::int64_t at = prompt; at < 5; ++at) {
          EXPECT_EQ(cache->length(), at);
          const std::vector<float> next = logits(at, 1, true);
          found.insert(found.end(), next.begin(), next.end());
        }
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t e = 0; e < found.size(); ++e) EXPECT_NEAR(found[e], expected[e], 30 * 4 * u) << e;
      }
    }
  }
}

TEST_F(KeyValueCacheTest, SaysBeforehandWhatItTakes) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    ModelOptions options = test::small_gpt_options();
    options.context = 1000;
    build(options, type);
    EXPECT_EQ(KeyValueCache::memory_bytes(options, model->chain()), cache->bytes());
    const auto keys = static_cast<std::size_t>(options.layers * options.context * options.width);
    EXPECT_GE(cache->bytes(), 2 * keys * size_of(type));
  }
}

TEST_F(KeyValueCacheTest, RefusesMoreTokensThanTheContextAndTraining) {
  build(test::small_gpt_options(), DType::fp32);
  (void)logits(0, 3, true);
  EXPECT_THROW((void)logits(0, 3, true), Error);
  cache->clear();
  EXPECT_NO_THROW((void)logits(0, 5, true));
  const StepContext training{.exec = exec, .engines = *engines, .cache = cache.get()};
  cache->clear();
  EXPECT_THROW(model->forward(training, tokens.tensor()), Error);
}

}  // namespace mylos::key_value_cache_test
