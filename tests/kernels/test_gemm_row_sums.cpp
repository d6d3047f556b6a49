// The sums of A's rows that a GEMM also computes, against sums in double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/matrix.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "support/cases.hpp"
#include "support/device_values.hpp"

namespace mylos::gemm_row_sums_test {

struct Results {
  std::vector<float> c, row_sums;
  friend bool operator==(const Results&, const Results&) = default;
};

/// Runs with a workspace full of NaN, and with results full of ones if they are added to, else of NaN.
Results run(GemmEngine& engine, const Execution& exec, const GemmProblem& problem, const test::Matrix& a,
            const test::Matrix& b) {
  const float before = problem.accumulate ? 1.0f : std::nanf("");
  const auto filled = [&](std::int64_t rows, std::int64_t columns) {
    return test::Matrix(problem.c, rows, columns,
                        std::vector<float>(static_cast<std::size_t>(rows * columns), before));
  };
  const test::Matrix c = filled(problem.m, problem.n);
  const test::Matrix row_sums = filled(1, problem.m);
  const Arena workspace("workspace", engine.workspace_bytes(problem));
  const std::vector<std::byte> not_a_number(workspace.bytes(), std::byte{0xff});
  test::copy_to_device(not_a_number.data(), workspace.data(), workspace.bytes());
  engine.run(exec, problem,
             {a.tensor().data(), b.tensor().data(), c.tensor().data(), nullptr, row_sums.tensor().data()},
             workspace.data());
  exec.fence();
  return {c.values(), row_sums.values()};
}

/// The bound is that of tests/kernels/test_gemm.cpp, with ones for B.
void expect_sums(const std::vector<float>& sums, const GemmProblem& problem, const std::vector<float>& a) {
  for (std::int64_t row = 0; row < problem.m; ++row) {
    double sum = problem.accumulate ? 1 : 0;
    double magnitude = sum;
    for (std::int64_t p = 0; p < problem.k; ++p) {
      const double value = a[static_cast<std::size_t>(p * problem.m + row)];
      sum += value;
      magnitude += std::abs(value);
    }
    const double summing = test::summing_error(static_cast<double>(problem.k), magnitude, 2);
    // A device's library computes new sums in C's type, which a separate pass adds to the old ones.
    const double rounded_first = !memory_is_host && problem.accumulate ? std::abs(sum - 1) : 0;
    ASSERT_NEAR(sums[static_cast<std::size_t>(row)], sum,
                summing + test::unit_roundoff_of(problem.c) * (std::abs(sum) + rounded_first + summing))
        << "row " << row;
  }
}

void expect_right(GemmEngine& engine, GemmProblem problem) {
  const test::Matrix a(problem.a, problem.k, problem.m,
                       test::random_values(problem.a, problem.m * problem.k, -1, 1, 1));
  const test::Matrix b(problem.b, problem.k, problem.n,
                       test::random_values(problem.b, problem.k * problem.n, -1, 1, 2));
  const Results alone = run(engine, Execution{}, problem, a, b);
  problem.row_sums = true;
  const Results both = run(engine, Execution{}, problem, a, b);
  // A device's library may use another algorithm when it also sums rows.
  if constexpr (memory_is_host) {
    EXPECT_EQ(both.c, alone.c) << "the GEMM";
  }
  for (const Execution& exec : test::narrower_executions())
    EXPECT_EQ(run(engine, exec, problem, a, b), both) << "on " << exec.concurrency() << " threads";
  expect_sums(both.row_sums, problem, a.values());
}

TEST(GemmRowSums, AreAsInDouble) {
  bool any = false;
  std::size_t number = 0;
  for (const GemmChoice choice : {GemmChoice::automatic, GemmChoice::tiles}) {
    const auto names = gemm_engine_names();
    if (choice == GemmChoice::tiles && std::find(names.begin(), names.end(), "tiles") == names.end())
      continue;
    KernelOptions options;
    options.gemm = choice;
    const auto engine = make_gemm_engine(options);
    for (const DType type : test::all_types) {
      for (const DType result : {type, DType::fp32}) {
        // Incomplete strips of rows; a single word of k without a partner; one and several chunks of k, in
        // several tasks.
        for (const auto [rows, columns, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                              {37, 50, 7},
                                              {300, 200, 101},
                                              {40, 90, 2501},
                                              {1030, 17, 1051}}) {
          GemmProblem problem = linear_weight_gradient(k, columns, rows, type, result);
          if (number++ % test::case_step != 0 || !engine->sums_rows(problem)) continue;
          any = true;
          SCOPED_TRACE(
              fmt::format("{} x {} x {} of {} to {}", rows, columns, k, name_of(type), name_of(result)));
          expect_right(*engine, problem);
          problem.accumulate = true;
          expect_right(*engine, problem);
        }
      }
    }
  }
  if (!any) GTEST_SKIP() << "no engine of this build sums rows";
}

}  // namespace mylos::gemm_row_sums_test
