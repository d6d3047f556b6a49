// Attention against a double reference, which is itself checked against its central differences.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/attention_case.hpp"

namespace mylos::attention_test {

/// A score's largest magnitude, |q| |k| / √width.
double largest_score(const HeadInputs& inputs) {
  double largest = 0;
  for (std::size_t i = 0; i < inputs.length(); ++i) {
    for (std::size_t j = 0; j < inputs.seen(i); ++j) {
      double score = 0;
      for (std::size_t c = 0; c < inputs.q.columns; ++c) score += std::abs(inputs.q(i, c) * inputs.k(j, c));
      largest = std::max(largest, score);
    }
  }
  return largest / std::sqrt(static_cast<double>(inputs.q.columns));
}

/// The error in float relative to the magnitude of a result's terms. A score has `width` products, and its
/// error is the relative error of the probability. The sum of the row has the same error; its exponentials
/// are off by 4 u (test_math.cpp). A gradient has two more products of `width`, one of `length`, and a
/// subtracted mean.
double float_error(const HeadInputs& inputs) {
  const auto length = static_cast<double>(inputs.length());
  const auto width = static_cast<double>(inputs.q.columns);
  const double probability =
      2 * test::summing_error(width, largest_score(inputs), 3) + test::summing_error(length, 1, 8);
  return 2 * probability + test::summing_error(2 * width + 2 * length, 1, 8);
}

/// Four roundings to the type (probability or gradient of a score, output, mean, result), and float
/// arithmetic. Each of `length` terms may have a factor below the type's normal numbers, times one of at most
/// `largest`.
void expect_near(const Doubles& found, const Doubles& expected, const Doubles& size, const HeadInputs& inputs,
                 DType type, const std::string& what) {
  const double arithmetic = float_error(inputs);
  constexpr double largest = 4;
  const double vanishing = static_cast<double>(inputs.length()) * test::rounding_error(type, 0) * largest;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double bound =
        4 * test::rounding_error(type, size.values[i]) + arithmetic * size.values[i] + vanishing;
    ASSERT_NEAR(found.values[i], expected.values[i], bound)
        << what << " in row " << i / expected.columns << ", column " << i % expected.columns;
  }
}

using Case = std::tuple<AttentionShape, DType, float, bool>;
class Attention : public testing::TestWithParam<Case> {
 protected:
  AttentionShape shape() const {
    AttentionShape shape = std::get<0>(GetParam());
    shape.type = std::get<1>(GetParam());
    return shape;
  }
  AttentionCase batch_{shape(), std::get<2>(GetParam()), std::get<3>(GetParam())};
};

TEST_P(Attention, IsTheDoubleReferenceForwardAndBackward) {
  batch_.run();
  const auto output = batch_.output.values();
  const auto d_qkv = batch_.d_qkv.values();
  const auto log_sums = batch_.log_sums.values();
  const AttentionShape shape = batch_.shape;
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const HeadInputs inputs = inputs_of(batch_, sample, head);
      const HeadResults expected = test::reference_head(inputs);
      const auto found = [&](const std::vector<float>& values, std::int64_t columns, std::int64_t first) {
        return part(values, columns, sample * shape.length, shape.length, first + head * shape.head_width,
                    shape.head_width);
      };
      const std::int64_t width = shape.width();
      expect_near(found(output, width, 0), expected.output, expected.output_size, inputs, shape.type,
                  "output");
      expect_near(found(d_qkv, 3 * width, 0), expected.d_q, expected.d_q_size, inputs, shape.type, "d_q");
      expect_near(found(d_qkv, 3 * width, width), expected.d_k, expected.d_k_size, inputs, shape.type, "d_k");
      expect_near(found(d_qkv, 3 * width, 2 * width), expected.d_v, expected.d_v_size, inputs, shape.type,
                  "d_v");
      // Of the first row; if it sees itself alone, the log of its sum is its only score.
      double sum = 0;
      for (std::size_t j = 0; j < inputs.seen(0); ++j) {
        double score = 0;
        for (std::size_t c = 0; c < inputs.q.columns; ++c) score += inputs.q(0, c) * inputs.k(j, c);
        sum += std::exp(score / std::sqrt(static_cast<double>(inputs.q.columns)));
      }
      EXPECT_NEAR(
          log_sums[static_cast<std::size_t>((sample * shape.heads + head) * shape.length)], std::log(sum),
          shape.causal ? test::summing_error(static_cast<double>(inputs.q.columns), largest_score(inputs), 3)
                       : float_error(inputs));
    }
  }
}

TEST_P(Attention, HasTheSameBitsForAnyNumberOfThreads) {
  batch_.run();
  const auto output = batch_.output.bytes();
  const auto d_qkv = batch_.d_qkv.bytes();
  const auto log_sums = batch_.log_sums.bytes();
  for (const Execution& exec : test::narrower_executions()) {
    batch_.run(exec);
    EXPECT_EQ(batch_.output.bytes(), output) << exec.concurrency();
    EXPECT_EQ(batch_.d_qkv.bytes(), d_qkv) << exec.concurrency();
    EXPECT_EQ(batch_.log_sums.bytes(), log_sums) << exec.concurrency();
  }
}

std::string name_of_case(const testing::TestParamInfo<Case>& parameter) {
  const auto& [shape, type, dropout, batches] = parameter.param;
  return fmt::format("{}{}x{}x{}x{}_{}{}{}", shape.causal ? "" : "all_", shape.samples, shape.length,
                     shape.heads, shape.head_width, name_of(type), dropout > 0 ? "_dropout" : "",
                     batches ? "_products" : "");
}

// One token; odd lengths and widths, those of a tile, and larger ones; more heads than threads.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    testing::Combine(testing::Values(AttentionShape{1, 1, 1, 4}, AttentionShape{2, 37, 3, 21},
                                     AttentionShape{3, 64, 4, 32}, AttentionShape{1, 65, 2, 64},
                                     AttentionShape{2, 130, 1, 80}, AttentionShape{1, 300, 2, 48},
                                     AttentionShape{2, 33, 3, 5}, AttentionShape{2, 36, 2, 8}),
                     testing::ValuesIn(test::all_types), testing::Values(0.0f, 0.3f),
                     testing::ValuesIn(batching_choices())),
    name_of_case);

AttentionShape of_all_tokens(AttentionShape shape) {
  shape.causal = false;
  return shape;
}

INSTANTIATE_TEST_SUITE_P(
    AllTokens, Attention,
    testing::Combine(testing::Values(of_all_tokens({1, 1, 1, 4}), of_all_tokens({2, 37, 3, 21}),
                                     of_all_tokens({3, 64, 4, 32}), of_all_tokens({2, 130, 1, 8}),
                                     of_all_tokens({1, 300, 2, 48}), of_all_tokens({2, 33, 3, 5})),
                     testing::ValuesIn(test::all_types), testing::Values(0.0f, 0.3f),
                     testing::ValuesIn(batching_choices())),
    name_of_case);

class AttentionReference : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Causal, AttentionReference, testing::Bool());

TEST_P(AttentionReference, GradientIsTheCentralDifference) {
  AttentionShape shape{1, 13, 1, 6, DType::fp32};
  shape.causal = GetParam();
  const AttentionCase batch(shape, 0.3f, false);
  const HeadInputs inputs = inputs_of(batch, 0, 0);
  const HeadResults results = test::reference_head(inputs);
  const auto loss_at = [&](Doubles HeadInputs::*matrix, std::size_t element, double shift) {
    HeadInputs moved = inputs;
    (moved.*matrix).values[element] += shift;
    const Doubles output = test::reference_head(moved).output;
    double loss = 0;
    for (std::size_t i = 0; i < output.values.size(); ++i)
      loss += output.values[i] * inputs.d_output.values[i];
    return loss;
  };
  const std::tuple<Doubles HeadInputs::*, Doubles> gradients[] = {
      {&HeadInputs::q, results.d_q}, {&HeadInputs::k, results.d_k}, {&HeadInputs::v, results.d_v}};
  for (const auto& [matrix, gradient] : gradients) {
    for (std::size_t i = 0; i < gradient.values.size(); ++i) {
      constexpr double h = 1e-5;
      ASSERT_NEAR(gradient.values[i], (loss_at(matrix, i, h) - loss_at(matrix, i, -h)) / (2 * h), 1e-9);
    }
  }
}

TEST(AttentionForward, DropsTheSameForAnySplitOfTheSamples) {
  for (const bool batches : batching_choices()) {
    const AttentionCase whole({3, 33, 2, 16, DType::bf16}, 0.4f, batches);
    whole.run();
    const AttentionShape one{1, 33, 2, 16, DType::bf16};
    for (std::int64_t sample = 0; sample < 3; ++sample) {
      const test::Matrix output(DType::bf16, one.rows(), one.width());
      const test::Matrix log_sums(DType::fp32, 1, one.rows() * one.heads);
      Dropout dropout = whole.dropout;
      dropout.first_sample += static_cast<std::uint64_t>(sample);
      attention_forward(Execution{}, whole.gemm, one, whole.qkv.tensor().row_range(sample * 33, 33), output,
                        log_sums.floats(), dropout, whole.workspace.data());
      const auto found = output.values();
      const auto expected = test::values_of(whole.output.tensor().row_range(sample * 33, 33));
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], other_sums(DType::bf16, batches)) << sample << " " << i;
    }
  }
}

/// Returns which of the first `columns` tokens survive dropout in the row of every token and head, for tokens
/// from `columns` on, which see all of them. The scores are equal and the values' columns a unit matrix, so
/// that outputs are probabilities.
std::vector<std::vector<bool>> kept_probabilities(const AttentionCase& batch, std::size_t columns) {
  const auto length = static_cast<std::size_t>(batch.shape.length);
  const auto heads = static_cast<std::size_t>(batch.shape.heads);
  const auto rows = static_cast<std::size_t>(batch.shape.rows());
  std::vector<float> qkv(rows * 3 * heads * length, 0.0f);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t head = 0; head < heads; ++head)
      qkv[((row * 3 + 2) * heads + head) * length + row % length] = 1;
  }
  test::set_values(batch.qkv, qkv);
  batch.run();
  const std::vector<float> output = batch.output.values();
  std::vector<std::vector<bool>> kept;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t head = 0; head < heads && row % length >= columns; ++head) {
      kept.emplace_back();
      for (std::size_t j = 0; j < columns; ++j)
        kept.back().push_back(output[(row * heads + head) * length + j] != 0);
    }
  }
  return kept;
}

TEST(AttentionForward, DropsOthersForEveryHeadTokenAndSample) {
  for (const bool batches : batching_choices()) {
    const AttentionCase batch({3, 64, 4, 64, DType::fp32}, 0.5f, batches);
    const auto kept = kept_probabilities(batch, 40);
    EXPECT_EQ(kept.size(), 3u * 4u * 24u);
    EXPECT_EQ(std::set<std::vector<bool>>(kept.begin(), kept.end()).size(), kept.size());
  }
}

TEST(AttentionForward, LargeScoresNeitherOverflowNorVanish) {
  for (const bool batches : batching_choices()) {
    for (const DType type : test::all_types) {
      const AttentionCase batch({1, 70, 1, 32, type}, 0, batches, 60);  // scores to about +-6000
      batch.run();
      const HeadInputs inputs = inputs_of(batch, 0, 0);
      const HeadResults expected = test::reference_head(inputs);
      const auto output = batch.output.values();
      for (std::size_t i = 0; i < output.size(); ++i) {
        ASSERT_NEAR(output[i], expected.output.values[i],
                    4 * test::rounding_error(type, expected.output_size.values[i]) +
                        float_error(inputs) * expected.output_size.values[i]);
      }
      for (const float value : batch.d_qkv.values()) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

// Tiles are padded with keys of 0, whose scores are then far above the others.
TEST(AttentionOfAllTokens, NegativeScoresAreAboveNoPadding) {
  for (const bool batches : batching_choices()) {
    for (const DType type : test::all_types) {
      AttentionShape shape = of_all_tokens({1, 35, 1, 16, type});
      const AttentionCase batch(shape, 0, batches);
      auto values = batch.qkv.values();
      for (std::size_t row = 0; row < 35; ++row) {
        for (std::size_t c = 0; c < 16; ++c) {
          values[row * 48 + c] = 20;                                                     // q
          values[row * 48 + 16 + c] = c == 0 ? -20 + static_cast<float>(row % 3) : -20;  // k
        }
      }
      test::set_values(batch.qkv, values);
      batch.run();
      const HeadInputs inputs = inputs_of(batch, 0, 0);
      const HeadResults expected = test::reference_head(inputs);
      const auto found = batch.d_qkv.values();
      expect_near(part(batch.output.values(), 16, 0, 35, 0, 16), expected.output, expected.output_size,
                  inputs, type, "output");
      expect_near(part(found, 48, 0, 35, 0, 16), expected.d_q, expected.d_q_size, inputs, type, "d_q");
      expect_near(part(found, 48, 0, 35, 32, 16), expected.d_v, expected.d_v_size, inputs, type, "d_v");
    }
  }
}

TEST(AttentionForward, PassesNanOnToEveryTokenThatSeesIt) {
  for (const bool batches : batching_choices()) {
    for (const DType type : test::all_types) {
      const AttentionCase batch({1, 40, 1, 16, type}, 0, batches);
      auto values = batch.qkv.values();
      values[20 * 48 + 32 + 3] = std::nanf("");  // v of token 20, column 3
      test::set_values(batch.qkv, values);
      batch.run();
      const auto output = batch.output.values();
      for (std::size_t i = 20; i < 40; ++i) {
        EXPECT_TRUE(std::isnan(output[i * 16 + 3])) << i;
        EXPECT_FALSE(std::isnan(output[i * 16 + 2]));
      }
    }
  }
}

TEST(AttentionAppend, ContinuesASampleAsForwardSeesIt) {
  for (const DType type : test::all_types) {
    const AttentionCase whole({1, 90, 3, 20, type}, 0, false);
    whole.run();
    const AttentionShape& shape = whole.shape;
    const test::Matrix keys(type, shape.length, shape.width());
    const test::Matrix values(type, shape.length, shape.width());
    const test::Matrix output(type, shape.rows(), shape.width());
    std::int64_t position = 0;
    for (const std::int64_t rows : {70, 1, 1, 3, 1, 14}) {
      const Arena workspace("workspace", attention_append_workspace(shape, rows));
      attention_append(Execution{}, shape, whole.qkv.tensor().row_range(position, rows), position, keys,
                       values, output.tensor().row_range(position, rows), workspace.data());
      position += rows;
    }
    ASSERT_EQ(position, shape.length);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const HeadInputs inputs = inputs_of(whole, 0, head);
      const HeadResults expected = test::reference_head(inputs);
      const auto cut = [&](const test::Matrix& matrix) {
        return part(matrix.values(), shape.width(), 0, shape.length, head * shape.head_width,
                    shape.head_width);
      };
      expect_near(cut(output), expected.output, expected.output_size, inputs, type, "appended");
      expect_near(cut(output), cut(whole.output), expected.output_size, inputs, type, "beside forward");
    }
  }
}

}  // namespace mylos::attention_test
