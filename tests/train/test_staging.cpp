// Staging: what the network is told of a batch of the host.
#include "mylos/train/staging.hpp"

#include <gtest/gtest.h>

#include "mylos/model/chain.hpp"
#include "support/device_values.hpp"

namespace mylos::staging_test {

TEST(Staging, BringsInputsAnswersAndTheFirstSamplesPlace) {
  ModelOptions model;
  model.inputs = 2;
  model.outputs = 3;
  model.loss = LossType::mse;
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  const Chain chain = make_mlp(model, precision, 1, false);
  const std::vector<float> inputs{1, 2, 3, 4};
  const std::vector<float> targets{5, 6, 7, 8, 9, 10};
  const Staging staging(chain, 4);
  // The place in the global batch: dropout's random numbers are those of the sample, not of its row here.
  const MicroBatch staged = staging.stage(
      Execution(),
      {.inputs = inputs.data(), .targets = targets.data(), .samples = 2, .rows = 2, .first_sample = 34});
  EXPECT_EQ(staged.first_sample, 34u);
  EXPECT_EQ(test::values_of(staged.inputs), inputs);
  std::vector<float> seen(6);
  test::copy_to_host(staged.truth.targets, seen.data(), seen.size() * sizeof(float));
  EXPECT_EQ(seen, targets);
  EXPECT_EQ(staged.truth.labels, nullptr);
}

}  // namespace mylos::staging_test
