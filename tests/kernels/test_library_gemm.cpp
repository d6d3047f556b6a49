// The description of a GEMM for a vendor's library, against sums over what it would read; and what computes
// the GEMM if the library refuses.
#include "mylos/kernels/gemm/library_gemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "kernels/matrix.hpp"
#include "mylos/kernels/gemm/gemm_epilogue.hpp"
#include "mylos/kernels/gemm/gemm_row_sums.hpp"

namespace mylos::library_gemm_test {

using Values = std::vector<double>;

/// A column-major GEMM as BLAS defines it: result = op(first)·op(second), leading dimensions as stored.
Values multiply(const LibraryGemm& gemm, const Values& first, const Values& second) {
  const auto at = [](const Values& values, const LibraryMatrix& stored, std::int64_t row, std::int64_t column,
                     bool transpose) {
    if (transpose) std::swap(row, column);
    EXPECT_LT(row, stored.rows);
    EXPECT_LT(column, stored.columns);
    return values.at(static_cast<std::size_t>(column * stored.rows + row));
  };
  const std::int64_t length = gemm.transpose_first ? gemm.first.rows : gemm.first.columns;
  Values result(static_cast<std::size_t>(gemm.result.rows * gemm.result.columns));
  for (std::int64_t column = 0; column < gemm.result.columns; ++column) {
    for (std::int64_t row = 0; row < gemm.result.rows; ++row) {
      double& sum = result.at(static_cast<std::size_t>(column * gemm.result.rows + row));
      for (std::int64_t p = 0; p < length; ++p) {
        sum += at(first, gemm.first, row, p, gemm.transpose_first) *
               at(second, gemm.second, p, column, gemm.transpose_second);
      }
    }
  }
  return result;
}

Values numbers(std::int64_t count, double from) {
  Values values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(LibraryGemm, OfColumnMajorMatricesIsOurRowMajorGemm) {
  for (const GemmProblem& problem :
       {linear_output(5, 7, 65, DType::bf16), linear_input_gradient(5, 7, 65, DType::bf16),
        linear_weight_gradient(5, 7, 65, DType::bf16, DType::fp32)}) {
    const auto& [m, n, k] = std::tie(problem.m, problem.n, problem.k);
    const Values a = numbers(m * k, 1);
    const Values b = numbers(k * n, -20);
    const Values c = multiply(library_gemm(problem), b, a);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += a.at(static_cast<std::size_t>(problem.transpose_a ? p * m + i : i * k + p)) *
                 b.at(static_cast<std::size_t>(problem.transpose_b ? j * k + p : p * n + j));
        }
        ASSERT_EQ(c.at(static_cast<std::size_t>(i * n + j)), sum) << name_of(form_of(problem));
      }
    }
    EXPECT_EQ(library_gemm(problem).result.type, problem.c);
  }
}

TEST(LibraryGemm, AlignmentsAreThoseOfTheAddresses) {
  alignas(512) std::byte memory[1024] = {};
  EXPECT_EQ(alignment_of(memory), 256u) << "the library's largest";
  EXPECT_EQ(alignment_of(memory + 256), 256u);
  EXPECT_EQ(alignment_of(memory + 128), 128u) << "a Kokkos::View's data on a device";
  EXPECT_EQ(alignment_of(memory + 130), 2u) << "row 1 of 65 values of 16 bits";
  EXPECT_EQ(alignment_of(memory + 1), 1u);
  EXPECT_EQ(alignment_of(nullptr), 256u);
  for (std::uintptr_t offset = 0; offset < 512; ++offset)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory + offset) % alignment_of(memory + offset), 0u);
  void* const c = memory + 16;
  const GemmOperands operands{.a = memory + 64, .b = memory + 32, .c = c, .bias = memory + 8};
  EXPECT_EQ(alignments_of(operands), (GemmAlignments{64, 32, 16, 8}));
  const GemmOperands with_sums{.a = memory + 64, .b = memory + 32, .c = c, .row_sums = c};
  EXPECT_EQ(alignments_of(with_sums), (GemmAlignments{64, 32, 16, 16}));
}

TEST(LibraryGemm, AlignmentsOfABatchAreThoseOfAllItsMatrices) {
  alignas(512) std::byte memory[1024] = {};
  const GemmOperands first{.a = memory, .b = memory + 64, .c = memory + 256};
  GemmProblem one = linear_output(32, 24, 33, DType::bf16);
  one.c = DType::fp32;
  EXPECT_EQ(alignments_of(batch_of(one, 1), first), alignments_of(first)) << "there is no stride";
  // 32 x 24 and 33 x 24 elements of two bytes, 32 x 33 of four
  EXPECT_EQ(alignments_of(batch_of(one, 2), first), (GemmAlignments{256, 16, 128, 256}));
  GemmBatch odd = batch_of(one, 2);
  odd.stride_a += 1;
  EXPECT_EQ(alignments_of(odd, first).a, 2u);
}

TEST(LibraryGemm, IsTriedWithoutEpilogueAndThenByAnotherEngine) {
  using Methods = std::vector<GemmMethod>;
  GemmProblem problem = linear_output(4, 4, 65, DType::fp16);
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue), (Methods{GemmMethod::library, GemmMethod::kokkos}));
  problem.bias = true;
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue),
            (Methods{GemmMethod::library, GemmMethod::library_after_bias, GemmMethod::kokkos}));
  problem.accumulate = true;  // C holds what the bias would be written over
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue), (Methods{GemmMethod::library, GemmMethod::kokkos}));
  problem.c = DType::fp32;  // the library's bias has C's type
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue),
            (Methods{GemmMethod::library_then_bias, GemmMethod::kokkos}));
  problem.bias_type = DType::fp32;
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue),
            (Methods{GemmMethod::library, GemmMethod::library_then_bias, GemmMethod::kokkos}));
}

TEST(LibraryGemm, SumsRowsItselfOrHasThemSummed) {
  using Methods = std::vector<GemmMethod>;
  GemmProblem problem = linear_weight_gradient(4, 4, 65, DType::fp16, DType::fp32);
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue), (Methods{GemmMethod::library, GemmMethod::kokkos}));
  problem.row_sums = true;
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue),
            (Methods{GemmMethod::library, GemmMethod::library_then_sums, GemmMethod::kokkos}));
  EXPECT_EQ(methods_of(problem, RowSums::separate),
            (Methods{GemmMethod::library_then_sums, GemmMethod::library, GemmMethod::kokkos}));
}

TEST(LibraryGemm, MultipliesByGelusDerivativeItselfOrHasItDone) {
  using Methods = std::vector<GemmMethod>;
  GemmProblem problem = linear_input_gradient(4, 4, 64, DType::fp16);
  problem.gelu_derivative = true;
  EXPECT_EQ(methods_of(problem, RowSums::in_epilogue),
            (Methods{GemmMethod::library, GemmMethod::library_then_gelu, GemmMethod::kokkos}));
}

test::Matrix drawn(DType type, std::int64_t rows, std::int64_t columns, unsigned seed) {
  return {type, rows, columns, test::random_values(type, rows * columns, -1, 1, seed)};
}

TEST(LibraryGemm, AddedToABiasIsRoundedOnceAsWithTheBiasInTheEpilogue) {
  const auto names = gemm_engine_names();
  if (std::find(names.begin(), names.end(), "kokkos") == names.end())
    GTEST_SKIP() << "no engine here that sums in the same order with and without the old C";
  const auto engine = make_gemm_engine({.gemm = GemmChoice::kokkos});
  const Execution exec;
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    GemmProblem problem = linear_output(9, 33, 65, type);
    problem.bias = true;
    const test::Matrix a = drawn(type, problem.m, problem.k, 1);
    const test::Matrix b = drawn(type, problem.n, problem.k, 2);
    const test::Matrix bias = drawn(type, 1, problem.n, 3);
    const test::Matrix in_epilogue(type, problem.m, problem.n);
    const test::Matrix before = drawn(type, problem.m, problem.n, 4);
    const Arena workspace("workspace", engine->workspace_bytes(problem));
    const auto run = [&](const GemmProblem& of, const test::Matrix& c) {
      engine->run(exec, of, {a.tensor().data(), b.tensor().data(), c.tensor().data(), bias.tensor().data()},
                  workspace.data());
    };
    run(problem, in_epilogue);
    fill_with_bias(exec, problem, bias.tensor().data(), before.tensor().data());
    GemmProblem added = problem;
    added.bias = false;
    added.accumulate = true;
    run(added, before);
    exec.fence();
    const std::vector<float> expected = in_epilogue.values();
    const std::vector<float> found = before.values();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // In float the sum starts from the old C.
      ASSERT_NEAR(found[i], expected[i], type == DType::fp32 ? 1e-5f : 0) << name_of(type) << " " << i;
    }
  }
}

/// Sums of what is stored, in double, added to `old`.
std::vector<float> sums_of_rows(const GemmProblem& problem, const test::Matrix& a,
                                const std::vector<float>& old) {
  const std::vector<float> values = a.values();
  std::vector<float> sums;
  for (std::int64_t i = 0; i < problem.m; ++i) {
    double sum = problem.accumulate ? static_cast<double>(old[static_cast<std::size_t>(i)]) : 0;
    for (std::int64_t p = 0; p < problem.k; ++p)
      sum += static_cast<double>(values[static_cast<std::size_t>(p * problem.m + i)]);
    sums.push_back(static_cast<float>(sum));
  }
  return sums;
}

TEST(LibraryRowSums, AreThoseOfTheStoredColumns) {
  const Execution exec;
  for (const DType type : test::all_types) {
    for (const DType sum_type : {type, DType::fp32}) {
      for (const bool accumulate : {false, true}) {
        // On devices the last two are summed in parts: with an incomplete strip and tile, or without.
        for (const auto& [rows, length] : {std::pair<std::int64_t, std::int64_t>{1, 129},
                                           {67, 129},
                                           {300, 40},
                                           {300, 1205},
                                           {1031, 700},
                                           {512, 3001}}) {
          GemmProblem problem = linear_weight_gradient(length, 5, rows, type, sum_type);
          problem.accumulate = accumulate;
          ASSERT_EQ(problem.m, rows);
          const test::Matrix a = drawn(type, problem.k, problem.m, 5);
          const test::Matrix sums = drawn(sum_type, 1, problem.m, 6);
          const std::vector<float> expected = sums_of_rows(problem, a, sums.values());
          const Arena workspace("workspace", long_column_sums_workspace);
          sum_rows_of_a(exec, problem, a.tensor().data(), sums.tensor().data(), workspace.data());
          exec.fence();
          const std::vector<float> found = sums.values();
          const float digits = sum_type == DType::fp32 ? 1e-5f : sum_type == DType::fp16 ? 2e-3f : 1e-2f;
          for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_NEAR(found[i], expected[i], digits * (4 + std::abs(expected[i])))
                << name_of(type) << " " << i;
        }
      }
    }
  }
}

TEST(LibraryRowSums, BesideTheOldOnesAreAddedToThem) {
  const Execution exec;
  for (const DType type : test::all_types) {
    const GemmProblem problem = linear_weight_gradient(9, 5, 67, type, type);
    const test::Matrix sums = drawn(type, 1, problem.m, 7);
    const test::Matrix added = drawn(type, 1, problem.m, 8);
    const std::vector<float> old = sums.values();
    const std::vector<float> more = added.values();
    add_row_sums(exec, problem, added.tensor().data(), sums.tensor().data());
    exec.fence();
    const std::vector<float> found = sums.values();
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], test::rounded_to(type, old[i] + more[i]));
  }
}

}  // namespace mylos::library_gemm_test
