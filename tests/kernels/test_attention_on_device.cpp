// On devices: attention by GEMMs compared with attention row by row, and split into blocks of heads.
#include <gtest/gtest.h>

#include "kernels/attention_case.hpp"

namespace mylos::attention_test {

TEST(AttentionOnDevice, AreTheSameUpToRounding) {
  for (const DType type : test::all_types) {
    const AttentionCase rows({2, 50, 3, 24, type}, 0.2f, false);
    const AttentionCase by_gemm({2, 50, 3, 24, type}, 0.2f, true);
    rows.run();
    by_gemm.run();
    const auto expect_same = [&](const test::Matrix& found, const test::Matrix& expected, double digits) {
      const auto [one, other] = std::pair{found.values(), expected.values()};
      for (std::size_t i = 0; i < one.size(); ++i)
        ASSERT_NEAR(one[i], other[i], digits * (1 + std::abs(static_cast<double>(other[i])))) << i;
    };
    const double digits = 16 * test::unit_roundoff_of(type);
    expect_same(by_gemm.output, rows.output, digits);
    expect_same(by_gemm.d_qkv, rows.d_qkv, digits);
    expect_same(by_gemm.log_sums, rows.log_sums, 16 * test::u);
  }
}

TEST(AttentionOnDevice, TakeHeadsBlockByBlock) {
  // On an emulated device, seven heads at a time.
  const AttentionCase whole({2, 1500, 4, 4, DType::bf16}, 0.2f, true);
  whole.run();
  const AttentionShape one{1, 1500, 4, 4, DType::bf16};
  const auto rows_of = [&](const test::Matrix& matrix) { return matrix.tensor().row_range(1500, 1500); };
  const test::Matrix output(one.type, one.rows(), one.width());
  const test::Matrix d_qkv(one.type, one.rows(), 3 * one.width());
  const test::Matrix log_sums(DType::fp32, 1, one.rows() * one.heads);
  Dropout dropout = whole.dropout;
  dropout.first_sample += 1;
  const Execution exec;
  attention_forward(exec, whole.gemm, one, rows_of(whole.qkv), output, log_sums.floats(), dropout,
                    whole.workspace.data());
  attention_backward(exec, whole.gemm, one, rows_of(whole.qkv), output, log_sums.floats(),
                     rows_of(whole.d_output), d_qkv, dropout, whole.workspace.data());
  exec.fence();
  const auto expect_same = [&](const test::Matrix& found, const Tensor& expected) {
    const auto [some, all] = std::pair{found.values(), test::values_of(expected)};
    for (std::size_t i = 0; i < some.size(); ++i)
      ASSERT_NEAR(some[i], all[i], other_sums(one.type, true)) << i;
  };
  expect_same(output, rows_of(whole.output));
  expect_same(d_qkv, rows_of(whole.d_qkv));
}

}  // namespace mylos::attention_test
