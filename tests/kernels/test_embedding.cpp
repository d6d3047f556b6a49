// Token and position embedding: sums in double, ties of tokens, dropout, and any number of threads.
#include "mylos/kernels/pointwise/embedding.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "mylos/base/numbers/random_words.hpp"

namespace mylos::embedding_test {

constexpr std::int64_t length = 17;
constexpr std::int64_t rows = 5 * length;
constexpr std::int64_t vocabulary = 23;
constexpr std::int64_t columns = 301;

std::vector<std::int32_t> some_tokens() {
  std::vector<std::int32_t> tokens;
  for (std::int32_t row = 0; row < rows; ++row) tokens.push_back(row * row % 13 + (row % 5 == 0 ? 10 : 0));
  return tokens;
}

class Embedding : public testing::TestWithParam<DType> {
 protected:
  Embedding() { test::copy_to_device(host_tokens_.data(), token_memory_.data(), host_tokens_.size() * 4); }
  DType type() const { return GetParam(); }
  const std::int32_t* tokens() const { return reinterpret_cast<const std::int32_t*>(token_memory_.data()); }
  Dropout dropout(float probability) const {
    return {RandomStream(5, RandomPurpose::dropout, "embedding"), probability, step_.data(), 1000};
  }
  static double factor(const Dropout& dropout, std::int64_t row, std::int64_t column) {
    if (!dropout.active()) return 1;
    const double kept = 1 - static_cast<double>(dropout.probability);
    const auto word =
        dropout.stream.word(17, 1000 + static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column));
    return word < kept * 4294967295.0 ? 1 / kept : 0;
  }
  static std::size_t at(std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>(row * columns + column);
  }
  std::int64_t token_of(std::int64_t row) const { return host_tokens_[static_cast<std::size_t>(row)]; }

  std::vector<std::int32_t> host_tokens_ = some_tokens();
  Arena token_memory_{"tokens", rows * 4};
  test::DeviceValue<std::uint64_t> step_{17};
  Arena workspace_{"workspace", embedding_backward_workspace(rows, vocabulary)};
};

TEST_P(Embedding, ForwardAddsTheTwoRows) {
  const auto token_values = test::random_values(type(), vocabulary * columns, -1, 1, 1);
  const auto position_values = test::random_values(type(), length * columns, -1, 1, 2);
  const test::Matrix token(type(), vocabulary, columns, token_values);
  const test::Matrix position(type(), length, columns, position_values);
  const test::Matrix output(type(), rows, columns);
  for (const bool positions : {true, false}) {
    for (const float probability : {0.0f, 0.3f}) {
      const Dropout drop = dropout(probability);
      embedding_forward(Execution{}, tokens(), length, token, positions ? position.tensor() : Tensor{},
                        output, drop);
      const auto found = output.values();
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t c = 0; c < columns; ++c) {
          const double by_token = token_values[at(token_of(row), c)];
          const double by_position = positions ? position_values[at(row % length, c)] : 0;
          const double expected = (by_token + by_position) * factor(drop, row, c);
          const double magnitude = (std::abs(by_token) + std::abs(by_position)) * factor(drop, row, c);
          ASSERT_NEAR(found[at(row, c)], expected,
                      test::rounding_error(type(), expected) + test::summing_error(1, magnitude, 2));
        }
      }
    }
  }
}

TEST_P(Embedding, BackwardSumsOverTheRowsOfEachTokenAndPosition) {
  const auto d = test::random_values(type(), rows * columns, -1, 1, 3);
  const test::Matrix d_output(type(), rows, columns, d);
  for (const DType weight_type : {DType::fp32, type()}) {
    for (const bool accumulate : {false, true}) {
      for (const float probability : {0.0f, 0.3f}) {
        const Dropout drop = dropout(probability);
        const double before = accumulate ? 2 : 0;
        std::vector<double> token_sums(vocabulary * columns, before);
        std::vector<double> position_sums(length * columns, 2);  // these are always added to
        // Sums of at most all rows, each a product with a rounded factor, and the old values.
        const double magnitude = 2 + rows / (1 - static_cast<double>(probability));
        const double summing = test::summing_error(rows + 1, magnitude, 2);
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t c = 0; c < columns; ++c) {
            token_sums[at(token_of(row), c)] += d[at(row, c)] * factor(drop, row, c);
            position_sums[at(row % length, c)] += d[at(row, c)] * factor(drop, row, c);
          }
        }
        const test::Matrix d_token(weight_type, vocabulary, columns,
                                   std::vector<float>(vocabulary * columns, 2.0f));
        const test::Matrix d_position(weight_type, length, columns,
                                      std::vector<float>(length * columns, 2.0f));
        embedding_backward(Execution{}, tokens(), length, d_output, d_token, d_position, accumulate, true,
                           drop, workspace_.data());
        const auto by_token = d_token.values();
        const auto by_position = d_position.values();
        for (std::size_t i = 0; i < by_token.size(); ++i) {
          ASSERT_NEAR(by_token[i], token_sums[i], test::rounding_error(weight_type, token_sums[i]) + summing);
        }
        for (std::size_t i = 0; i < by_position.size(); ++i) {
          ASSERT_NEAR(by_position[i], position_sums[i],
                      test::rounding_error(weight_type, position_sums[i]) + summing);
        }
      }
    }
  }
}

// Frequent tokens are summed by several threads of a device, wide rows in strips.
TEST_P(Embedding, BackwardSumsFrequentTokensOfWideRows) {
  constexpr std::int64_t width = 2100;
  constexpr std::int64_t many = 150;
  std::vector<std::int32_t> frequent(many, 3);
  frequent[17] = frequent[149] = 1;
  const Arena memory("tokens", many * 4);
  test::copy_to_device(frequent.data(), memory.data(), many * 4);
  const auto d = test::random_values(type(), many * width, -1, 1, 3);
  const test::Matrix d_output(type(), many, width, d);
  const test::Matrix d_token(DType::fp32, 4, width, std::vector<float>(4 * width, 2.0f));
  const Arena workspace("workspace", embedding_backward_workspace(many, 4));
  embedding_backward(Execution{}, reinterpret_cast<const std::int32_t*>(memory.data()), many, d_output,
                     d_token, {}, false, false, {}, workspace.data());
  const auto found = d_token.values();
  std::vector<double> sums(4 * width);
  for (std::size_t row = 0; row < many; ++row) {
    for (std::size_t c = 0; c < width; ++c)
      sums[static_cast<std::size_t>(frequent[row]) * width + c] += d[row * width + c];
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    ASSERT_NEAR(found[i], sums[i], test::summing_error(many, many)) << i;
}

// Vocabularies whose largest key has one, two and three digits of a device's sort; several blocks of rows.
TEST(EmbeddingBackward, SumsTheRowsOfEachTokenInTheirOrder) {
  constexpr std::int64_t many = 1300;
  constexpr std::int64_t width = 3;
  for (const std::int64_t tokens : {7, 255, 256, 66000}) {
    std::vector<std::int32_t> of_rows;
    for (std::int64_t row = 0; row < many; ++row) of_rows.push_back(static_cast<std::int32_t>(row));
    // Six rows have one token in a small vocabulary; in a large one the digits differ.
    for (std::int32_t& token : of_rows) token = static_cast<std::int32_t>(token % 217 * 40507 % tokens);
    of_rows[0] = of_rows[700] = static_cast<std::int32_t>(tokens - 1);
    of_rows[17] = static_cast<std::int32_t>(tokens);
    of_rows[18] = -5;
    const Arena memory("tokens", many * 4);
    test::copy_to_device(of_rows.data(), memory.data(), many * 4);
    // Large and small terms, whose float sums depend on their order.
    auto d = test::random_values(DType::fp32, many * width, -1, 1, 3);
    for (std::size_t i = 0; i < d.size(); i += 2) d[i] *= 1e6f;
    const test::Matrix d_output(DType::fp32, many, width, d);
    const test::Matrix d_token(DType::fp32, tokens, width);
    const Arena workspace("workspace", embedding_backward_workspace(many, tokens));
    embedding_backward(Execution{}, reinterpret_cast<const std::int32_t*>(memory.data()), many, d_output,
                       d_token, {}, false, false, {}, workspace.data());
    std::vector<float> sums(static_cast<std::size_t>(tokens * width));
    std::vector<int> counts(static_cast<std::size_t>(tokens));
    for (std::size_t row = 0; row < many; ++row) {
      if (of_rows[row] < 0 || of_rows[row] >= tokens) continue;
      const auto token = static_cast<std::size_t>(of_rows[row]);
      ++counts[token];
      for (std::size_t c = 0; c < width; ++c) sums[token * width + c] += d[row * width + c];
    }
    const auto found = d_token.values();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      // Of more than eight rows, a device sums each eighth separately.
      if (counts[i / width] <= 8) {
        ASSERT_EQ(found[i], sums[i]) << "token " << i / width << " of " << tokens;
      } else {
        ASSERT_NEAR(found[i], sums[i], test::summing_error(many, 1e6 * many));
      }
    }
  }
}

TEST_P(Embedding, BackwardHasTheSameBitsForAnyNumberOfThreads) {
  const test::Matrix d_output(type(), rows, columns, test::random_values(type(), rows * columns, -1, 1, 3));
  const test::Matrix d_token(DType::fp32, vocabulary, columns);
  const test::Matrix d_position(DType::fp32, length, columns);
  const auto run = [&](const Execution& exec) {
    embedding_backward(exec, tokens(), length, d_output, d_token, d_position, false, false, {},
                       workspace_.data());
    exec.fence();
  };
  run(Execution{});
  const auto by_token = d_token.bytes();
  const auto by_position = d_position.bytes();
  for (const Execution& exec : test::narrower_executions()) {
    run(exec);
    EXPECT_EQ(d_token.bytes(), by_token) << exec.concurrency();
    EXPECT_EQ(d_position.bytes(), by_position) << exec.concurrency();
  }
}

TEST_P(Embedding, ATokenOutsideTheVocabularyGivesNanAndNoGradient) {
  host_tokens_[3] = vocabulary;
  host_tokens_[4] = -1;
  test::copy_to_device(host_tokens_.data(), token_memory_.data(), host_tokens_.size() * 4);
  const test::Matrix token(type(), vocabulary, columns);
  const test::Matrix output(type(), rows, columns);
  embedding_forward(Execution{}, tokens(), length, token, {}, output, {});
  const auto found = output.values();
  for (std::int64_t row = 0; row < rows; ++row) {
    EXPECT_EQ(std::isnan(found[at(row, 7)]), row == 3 || row == 4);
  }
  const test::Matrix ones(type(), rows, columns, std::vector<float>(rows * columns, 1.0f));
  const test::Matrix d_token(DType::fp32, vocabulary, columns);
  embedding_backward(Execution{}, tokens(), length, ones, d_token, {}, false, false, {}, workspace_.data());
  double sum = 0;
  for (const float value : d_token.values()) sum += value;
  EXPECT_EQ(sum, (rows - 2) * columns);
}

INSTANTIATE_TEST_SUITE_P(Types, Embedding, testing::ValuesIn(test::all_types),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

}  // namespace mylos::embedding_test
