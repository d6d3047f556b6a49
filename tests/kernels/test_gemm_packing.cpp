// A matrix that is transposed or converted is packed before it is multiplied, a bounded part of it at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/matrix.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos::gemm_packing_test {

constexpr std::byte pattern{0xff};  // four of them are not a number

/// Computes C = op(A) B, with its epilogue, from a workspace and a C full of NaN. Expects that nothing is
/// written after the workspace.
std::vector<float> multiply(GemmEngine& tiles, const Execution& exec, const GemmProblem& problem,
                            const test::Matrix& a, const test::Matrix& b, const void* packed_b = nullptr) {
  const test::Matrix c(problem.c, problem.m, problem.n);
  std::fill_n(static_cast<std::byte*>(c.tensor().data()), c.tensor().bytes(), pattern);
  const std::size_t planned = tiles.workspace_bytes(problem);
  const Arena workspace("workspace", planned + 4096);
  std::fill_n(workspace.data(), workspace.bytes(), pattern);
  GemmOperands operands{a.tensor().data(), b.tensor().data(), c.tensor().data()};
  operands.packed_b = packed_b;
  if (problem.bias) operands.bias = b.tensor().data();  // its first numbers
  tiles.run(exec, problem, operands, workspace.data());
  exec.fence();
  EXPECT_TRUE(std::all_of(workspace.data() + planned, workspace.data() + workspace.bytes(),
                          [](std::byte byte) { return byte == pattern; }));
  return c.values();
}

class GemmPacking : public testing::Test {
 protected:
  void SetUp() override {
    const auto names = gemm_engine_names();
    if (std::find(names.begin(), names.end(), "tiles") == names.end())
      GTEST_SKIP() << "no tiles in this build";
    KernelOptions options;
    options.gemm = GemmChoice::tiles;
    tiles_ = make_gemm_engine(options);
  }
  std::unique_ptr<GemmEngine> tiles_;
};

TEST_F(GemmPacking, InPartsChangesNoBit) {
  // More words than are packed at a time, for any type; the last part is incomplete.
  constexpr std::int64_t samples = 2200;
  constexpr std::int64_t outputs = 4001;
  constexpr std::int64_t inputs = 5;
  constexpr std::int64_t few = 70;  // packed at once
  for (const DType type : test::all_types) {
    SCOPED_TRACE(name_of(type));
    const auto dy = test::random_values(type, samples * outputs, -1, 1, 1);
    const test::Matrix x(type, samples, inputs, test::random_values(type, samples * inputs, -1, 1, 2));
    const auto dw = [&](const Execution& exec, std::int64_t first, std::int64_t rows) {
      std::vector<float> columns;
      for (std::int64_t sample = 0; sample < samples; ++sample) {
        const auto begin = dy.begin() + sample * outputs + first;
        columns.insert(columns.end(), begin, begin + rows);
      }
      return multiply(*tiles_, exec, linear_weight_gradient(samples, inputs, rows, type, type),
                      test::Matrix(type, samples, rows, columns), x);
    };
    const auto all = dw(Execution{}, 0, outputs);
    ASSERT_TRUE(std::none_of(all.begin(), all.end(), [](float value) { return std::isnan(value); }));
    for (const std::int64_t first : {std::int64_t{0}, outputs - few}) {
      const auto part = dw(Execution{}, first, few);
      ASSERT_TRUE(std::equal(part.begin(), part.end(), all.begin() + first * inputs)) << "from row " << first;
    }
    ASSERT_EQ(dw(test::narrower_execution(), 0, outputs), all) << "on fewer threads";
  }
}

TEST_F(GemmPacking, OfWeightsBeforehandChangesNoBitForAnyNumberOfRows) {
  constexpr std::int64_t max_rows = 41;
  // Fewer columns than a vector, several panels with an incomplete one; several chunks of k.
  for (const auto& [inputs, outputs] :
       {std::pair<std::int64_t, std::int64_t>{64, 5}, {64, 130}, {200, 200}, {257, 130}, {1501, 50}}) {
    for (const DType type : test::all_types) {
      const auto x = test::random_values(type, max_rows * inputs, -1, 1, 1);
      const test::Matrix w(type, outputs, inputs, test::random_values(type, outputs * inputs, -1, 1, 2));
      const auto problem = [&](std::int64_t rows) {
        GemmProblem output = linear_output(rows, inputs, outputs, type);
        output.bias = output.relu = true;
        output.bias_type = type;
        return output;
      };
      const std::size_t bytes = tiles_->packed_bytes(problem(1));
      EXPECT_EQ(tiles_->packed_bytes(problem(max_rows)), bytes);
      const Arena packed("packed", bytes + 64);
      std::fill_n(packed.data(), packed.bytes(), pattern);
      tiles_->pack(Execution{}, problem(1), w.tensor().data(), packed.data());
      EXPECT_TRUE(std::all_of(packed.data() + bytes, packed.data() + packed.bytes(),
                              [](std::byte byte) { return byte == pattern; }));
      const auto all =
          multiply(*tiles_, Execution{}, problem(max_rows), test::Matrix(type, max_rows, inputs, x), w);
      ASSERT_TRUE(std::none_of(all.begin(), all.end(), [](float value) { return std::isnan(value); }));
      for (const std::int64_t rows : {1, 2, 7, 8, 9, 33, 41}) {
        const auto first = static_cast<std::ptrdiff_t>((max_rows - rows) * inputs);
        const test::Matrix some(type, rows, inputs, std::vector<float>(x.begin() + first, x.end()));
        const std::vector<float> expected(all.end() - rows * outputs, all.end());
        ASSERT_EQ(multiply(*tiles_, Execution{}, problem(rows), some, w), expected) << rows;
        ASSERT_EQ(multiply(*tiles_, Execution{}, problem(rows), some, w, packed.data()), expected)
            << rows << " x " << inputs << " x " << outputs << " in " << name_of(type);
      }
    }
  }
}

TEST_F(GemmPacking, TakesBoundedMemory) {
  // Otherwise the gradients of a large vocabulary's logits would be stored twice.
  for (const DType type : test::all_types) {
    const auto bytes = [&](std::int64_t rows) {
      return tiles_->workspace_bytes(linear_weight_gradient(8192, 1600, rows, type, type));
    };
    EXPECT_LE(bytes(50304), bytes(1100) + (std::size_t{1} << 20)) << name_of(type);
  }
}

}  // namespace mylos::gemm_packing_test
