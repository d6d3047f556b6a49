// Soft gating against its definition in double, within the bounds of rounding and of sums in float.
#include "mylos/kernels/pointwise/soft_gate.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "kernels/reference_convolution.hpp"

namespace mylos::soft_gate_test {

/// Rows, columns, type, and whether the gate is float.
class SoftGate : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t, DType, bool>> {
 protected:
  [[nodiscard]] static double bound(DType type, double value, double magnitude, double terms) {
    return test::rounding_error(type, value) + test::summing_error(terms, magnitude, 2);
  }
};

TEST_P(SoftGate, AndItsGradients) {
  const auto& [rows, columns, type, gate_is_float] = GetParam();
  const DType gate_type = gate_is_float ? DType::fp32 : type;
  const std::int64_t size = rows * columns;
  const auto x = test::random_values(type, size, -1, 1, 1);
  const auto s = test::random_values(type, size, -1, 1, 2);
  const auto dy = test::random_values(type, size, -1, 1, 3);
  const auto later = test::random_values(type, size, -1, 1, 4);
  const auto factors = test::random_values(gate_type, columns, -2, 2, 5);
  const test::Matrix through(type, rows, columns, x);
  const test::Matrix past(type, rows, columns, s);
  const test::Matrix gate(gate_type, 1, columns, factors);
  const test::Matrix y(type, rows, columns);
  soft_gate_forward(Execution{}, through, past, gate, y);

  const test::Matrix d_out(type, rows, columns, dy);
  const test::Matrix ds(type, rows, columns);
  const test::Matrix added(type, rows, columns, later);
  const test::Matrix d_gate(DType::fp32, 1, columns);
  const test::Matrix twice(DType::fp32, 1, columns);
  const Arena workspace("workspace", soft_gate_workspace(rows, columns));
  soft_gate_backward(Execution{}, past, gate, d_out, ds, false, d_gate, false, workspace.data());
  soft_gate_backward(Execution{}, past, gate, d_out, added, true, twice, false, workspace.data());
  soft_gate_backward(Execution{}, past, gate, d_out, {}, false, twice, true, workspace.data());

  test::Sums sums(columns);
  const std::vector<float> found_y = y.values();
  const std::vector<float> found_ds = ds.values();
  const std::vector<float> found_added = added.values();
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double factor = factors[at % static_cast<std::size_t>(columns)];
    const double value = x[at] + factor * s[at];
    ASSERT_NEAR(found_y[at], value, bound(type, value, std::abs(x[at]) + std::abs(factor * s[at]), 2));
    const double slope = factor * dy[at];
    ASSERT_NEAR(found_ds[at], slope, bound(type, slope, std::abs(slope), 1));
    ASSERT_NEAR(found_added[at], slope + later[at],
                bound(type, slope + later[at], std::abs(slope) + std::abs(later[at]), 2));
    sums.add(i % columns, static_cast<double>(dy[at]) * s[at]);
  }
  const std::vector<float> found = d_gate.values();
  const std::vector<float> found_twice = twice.values();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = test::summing_error(sums.terms[i], sums.magnitude[i], 2);
    ASSERT_NEAR(found[i], sums.value[i], error);
    ASSERT_EQ(found_twice[i], 2 * found[i]) << "accumulates the same sums";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SoftGate,
                         testing::Combine(testing::Values(1, 63, 500), testing::Values(1, 6, 300),
                                          testing::ValuesIn(test::all_types), testing::Bool()));
INSTANTIATE_TEST_SUITE_P(ManyRows, SoftGate,
                         testing::Combine(testing::Values(20000), testing::Values(1, 6),
                                          testing::ValuesIn(test::all_types), testing::Bool()));

TEST(SoftGate, NeedsNoMoreMemoryForFewerRows) {
  std::size_t before = 0;
  for (std::int64_t rows = 1; rows < 40000; rows += 37) {
    const std::size_t bytes = soft_gate_workspace(rows, 5);
    EXPECT_GE(bytes, before) << rows;
    before = bytes;
  }
}

}  // namespace mylos::soft_gate_test
