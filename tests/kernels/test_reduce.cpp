// Reductions: exact where arithmetic is exact, over all elements, the same for any number of threads.
#include "mylos/kernels/launch/reduce.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/matrix.hpp"

namespace mylos::reduce_test {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

double squares(const Execution& exec, const Tensor& tensor) {
  const SumsOfSquares sums(std::span(&tensor, 1));
  const test::DeviceValue<double> result(-1.0);
  sums.run(exec, result.data());
  exec.fence();
  return result.get();
}

std::int64_t first_bad(const Tensor& tensor) {
  const test::DeviceValue<std::int64_t> index(-7);
  first_nonfinite(Execution{}, tensor, index.data());
  Execution{}.fence();
  return index.get();
}

TEST(SumOfSquares, IsExactForSmallIntegers) {
  for (const DType type : test::all_types) {
    for (const std::int64_t count : {1, 17, 32768, 100'003}) {
      std::vector<float> values;
      double expected = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<float>(i % 23 - 11));
        expected += values.back() * values.back();
      }
      EXPECT_EQ(squares(Execution{}, test::Matrix(type, 1, count, values)), expected);
    }
  }
}

TEST(SumOfSquares, OfSeveralTensorsAreThoseOfEach) {
  std::vector<test::Matrix> matrices;
  std::vector<Tensor> tensors;
  std::vector<double> expected;
  std::vector<std::int64_t> lengths{33, 100'003, 0, 32768, 1};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const DType type = test::all_types[i % 3];
    matrices.emplace_back(type, 1, lengths[i], test::random_values(type, lengths[i], -1, 1, 5));
    // The second tensor does not start where a device can read several elements at once.
    tensors.push_back(i == 1 ? matrices[i].tensor().elements(3, --lengths[i] - 2) : matrices[i].tensor());
    lengths[i] = tensors[i].size();
    expected.push_back(lengths[i] > 0 ? squares(Execution{}, tensors[i]) : 0);
  }
  const SumsOfSquares sums(tensors);
  const Arena results("results", lengths.size() * sizeof(double));
  sums.run(Execution{}, reinterpret_cast<double*>(results.data()));
  Execution{}.fence();
  std::vector<double> found(lengths.size());
  test::copy_to_host(results.data(), found.data(), lengths.size() * sizeof(double));
  EXPECT_EQ(found, expected);
  double second = 0;
  for (const float value : test::values_of(tensors[1])) second += double{value} * value;
  EXPECT_NEAR(found[1], second, 1e-12 * second);
}

TEST(SumOfSquares, OfFiniteValuesIsFiniteEvenAtTheEndOfTheRange) {
  const test::Matrix tensor(DType::bf16, 1, 1000, std::vector<float>(1000, 0x1.FEp127f));
  EXPECT_DOUBLE_EQ(squares(Execution{}, tensor), 1000 * 0x1.FEp127 * 0x1.FEp127);
}

TEST(SumOfSquares, ShowsOneBadElementAtAnyPosition) {
  constexpr std::int64_t count = 32768 + 201;
  for (const DType type : test::all_types) {
    for (std::int64_t position = 0; position < count;
         position += position < 40 || position > 32740 ? 1 : 1021) {
      const test::Matrix tensor(type, 1, count, std::vector<float>(count, 1.0f));
      const Tensor element(static_cast<std::byte*>(tensor.tensor().data()) +
                               static_cast<std::size_t>(position) * size_of(type),
                           type, 1, 1);
      for (const float bad : {infinity, -infinity, not_a_number}) {
        test::set_values(element, {bad});
        ASSERT_FALSE(std::isfinite(squares(Execution{}, tensor))) << position;
        ASSERT_EQ(first_bad(tensor), position);
      }
    }
  }
}

TEST(SumOfSquares, HasTheSameBitsForAnyNumberOfThreads) {
  const auto values = test::random_values(DType::fp32, 1'000'001, -1, 1, 1);
  const test::Matrix tensor(DType::fp32, 1, 1'000'001, values);
  for (const Execution& exec : test::narrower_executions())
    EXPECT_EQ(squares(exec, tensor), squares(Execution{}, tensor)) << exec.concurrency();
}

TEST(FirstNonfinite, IsMinusOneWhereAllIsFinite) {
  EXPECT_EQ(first_bad(test::Matrix(DType::fp16, 1, 100, std::vector<float>(100, 65504.0f))), -1);
}

TEST(FirstNonfinite, IsTheFirstOfSeveral) {
  std::vector<float> values(1000, 1.0f);
  values[999] = infinity;
  values[123] = not_a_number;
  values[124] = -infinity;
  for (const DType type : test::all_types) EXPECT_EQ(first_bad(test::Matrix(type, 1, 1000, values)), 123);
}

}  // namespace mylos::reduce_test
