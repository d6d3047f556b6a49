// Tiles have the same bits with any number of threads, whichever thread takes a task.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kernels/matrix.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "support/cases.hpp"

namespace mylos::gemm_threads_test {

/// C, from a workspace and a C full of NaN.
std::vector<float> multiply(GemmEngine& tiles, const Execution& exec, const GemmProblem& problem,
                            const test::Matrix& a, const test::Matrix& b) {
  const test::Matrix c(problem.c, problem.m, problem.n);
  std::fill_n(static_cast<std::byte*>(c.tensor().data()), c.tensor().bytes(), std::byte{0xff});
  const Arena workspace("workspace", tiles.workspace_bytes(problem));
  std::fill_n(workspace.data(), workspace.bytes(), std::byte{0xff});
  tiles.run(exec, problem, {a.tensor().data(), b.tensor().data(), c.tensor().data()}, workspace.data());
  exec.fence();
  return c.values();
}

TEST(GemmThreads, ChangeNoBit) {
  const auto names = gemm_engine_names();
  if (std::find(names.begin(), names.end(), "tiles") == names.end()) GTEST_SKIP() << "no tiles in this build";
  KernelOptions options;
  options.gemm = GemmChoice::tiles;
  const auto tiles = make_gemm_engine(options);
  // An odd number of strips, for which two threads cannot have equal tasks; several tasks for each thread;
  // several chunks of k.
  for (const auto [rows, inputs, outputs] :
       {std::array<std::int64_t, 3>{96, 300, 40}, {160, 64, 600}, {90, 2500, 100}, {700, 90, 130}}) {
    for (const DType type : test::all_types) {
      for (const GemmProblem& problem : {linear_output(rows, inputs, outputs, type),
                                         linear_weight_gradient(inputs, outputs, rows, type, type)}) {
        const test::Matrix a(type, problem.m, problem.k,
                             test::random_values(type, problem.m * problem.k, -1, 1, 1));
        const test::Matrix b(type, problem.k, problem.n,
                             test::random_values(type, problem.k * problem.n, -1, 1, 2));
        const auto alone = multiply(*tiles, test::narrower_execution(), problem, a, b);
        ASSERT_TRUE(std::none_of(alone.begin(), alone.end(), [](float value) { return std::isnan(value); }));
        for (int repeat = 0; repeat < test::cases(20); ++repeat) {
          ASSERT_EQ(multiply(*tiles, Execution{}, problem, a, b), alone)
              << name_of(type) << ", " << problem.m << " x " << problem.n << " x " << problem.k << ", repeat "
              << repeat;
        }
      }
    }
  }
}

}  // namespace mylos::gemm_threads_test
