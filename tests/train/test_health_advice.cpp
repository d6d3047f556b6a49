// Advice names keys with values that the deck does not have.
#include "mylos/train/health/health_advice.hpp"

#include <gtest/gtest.h>

namespace mylos {
namespace {

bool mentions(const std::string& text, const char* key) {
  return text.find(key) != std::string::npos;
}

TEST(HealthAdvice, OffersNoTypeOrActivationThatTheDeckHas) {
  Options options;
  options.model.activation = Activation::relu;
  options.precision.compute = DType::fp16;
  const HealthAdvice in_half(options, true);
  EXPECT_TRUE(mentions(in_half.on_dead_units(), "model.activation = \"gelu\""));
  EXPECT_TRUE(mentions(in_half.on_divergence(), "precision.compute = \"bf16\""));
  EXPECT_TRUE(mentions(in_half.on_vanishing_parameter(), "precision.scaler.initial_scale = 1048576"));

  options.model.activation = Activation::gelu;
  options.model.norm = NormType::layernorm;
  options.precision.compute = DType::bf16;
  const HealthAdvice in_bfloat16(options, false);
  EXPECT_FALSE(mentions(in_bfloat16.on_dead_units(), "gelu"));
  EXPECT_FALSE(mentions(in_bfloat16.on_divergence(), "bf16"));
  EXPECT_FALSE(mentions(in_bfloat16.on_vanishing_parameter(), "scaler"));
  EXPECT_FALSE(mentions(in_bfloat16.on_vanishing_parameter(), "norm"));

  options.precision.compute = DType::fp32;
  EXPECT_FALSE(mentions(HealthAdvice(options, false).on_divergence(), "precision"));

  options.model.type = ModelType::gpt;
  options.model.activation = Activation::relu;  // a key that a gpt does not have
  EXPECT_FALSE(mentions(HealthAdvice(options, false).on_dead_layer(), "activation"));
}

TEST(HealthAdvice, ClipsAtTheUsualNormAndBelowWhatIsClippedAt) {
  Options options;
  options.optimizer.clip_norm = 0;
  EXPECT_TRUE(
      mentions(HealthAdvice(options, false).on_large_gradients(0.96, 100), "clip_norm = 1 (the median"));
  EXPECT_TRUE(mentions(HealthAdvice(options, false).on_large_gradients(0.0123, 9), "clip_norm = 0.01 "));
  EXPECT_TRUE(mentions(HealthAdvice(options, false).on_large_gradients(0, 0), "clip_norm = 1 or"));
  options.optimizer.clip_norm = 1;
  EXPECT_TRUE(mentions(HealthAdvice(options, false).on_large_gradients(30, 100), "clip_norm = 0.5 "));
}

TEST(HealthAdvice, BringsUpdatesToAThousandthOfTheWeights) {
  Options options;
  options.optimizer.lr = 1e-3;
  EXPECT_EQ(HealthAdvice(options, false).on_update_ratio(0.5),
            "try optimizer.lr = 1e-05");  // 500 times: at most 100
  EXPECT_EQ(HealthAdvice(options, false).on_update_ratio(2.5e-4), "try optimizer.lr = 0.004");
}

}  // namespace
}  // namespace mylos
