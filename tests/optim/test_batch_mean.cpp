// Gradients are divided once for the batch's mean, in whichever stage, and before they are rounded to 16
// bits.
#include "mylos/optim/gradients/batch_mean.hpp"

#include <gtest/gtest.h>

namespace mylos::batch_mean_test {

constexpr DType types[] = {DType::fp32, DType::bf16, DType::fp16};

TEST(BatchMean, ItsFactorsDivideByThePlannedRows) {
  for (const int ranks : {1, 3}) {
    for (const DType gradients : types) {
      for (const DType wire : {gradients, DType::fp32, DType::bf16}) {
        const BatchMean mean(13, 5, 7, ranks);
        const BucketDivision parts = mean.division(gradients, wire);
        const float factor = mean.seed_factor() * parts.into_wire * parts.of_sum / parts.left;
        EXPECT_FLOAT_EQ(factor, 1.0f / (13 * 7));
        EXPECT_EQ(mean.planned_rows(), 13 * 7);
      }
    }
  }
}

TEST(BatchMean, BoxesOfSumsCountAsSamplesOfRanksThatHaveOneEach) {
  const BatchMean boxes(6, 3, 7, 1, 4), samples(6 * 4, 3, 7, 4);
  EXPECT_EQ(boxes.seed_factor(), 4 * samples.seed_factor());  // of the mean over the boxes
  EXPECT_EQ(boxes.division(DType::fp32, DType::fp32).left, samples.division(DType::fp32, DType::fp32).left);
  EXPECT_EQ(boxes.planned_rows(), 6 * 7);
}

TEST(BatchMean, FloatsAreDividedByTheUpdate) {
  EXPECT_EQ(BatchMean(13, 5, 7, 3).division(DType::fp32, DType::fp32).left, 13.0f / 5.0f);
}

TEST(BatchMean, SixteenBitsHoldWhatIsDividedAlready) {
  const BatchMean mean(13, 5, 7, 3);
  for (const DType narrow : {DType::bf16, DType::fp16}) {
    EXPECT_EQ(mean.division(DType::fp32, narrow).into_wire, 1 / (13.0f / 5.0f)) << "on its way";
    EXPECT_EQ(mean.division(narrow, narrow).of_sum, 1 / (13.0f / 5.0f)) << "where the float sum is rounded";
    EXPECT_EQ(mean.division(narrow, DType::fp32).of_sum, 1 / (13.0f / 5.0f));
  }
}

TEST(BatchMean, OneRankReducesNothingAndLeavesAllToTheUpdate) {
  EXPECT_EQ(BatchMean(12, 4, 1, 1).division(DType::bf16, DType::bf16).left, 3.0f);
}

}  // namespace mylos::batch_mean_test
