// The workspace that was planned for a GEMM suffices for every smaller one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "mylos/base/error.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/norm/layernorm.hpp"
#include "mylos/kernels/norm/rmsnorm.hpp"
#include "support/cases.hpp"

namespace mylos::gemm_workspace_test {

std::vector<std::unique_ptr<GemmEngine>> all_engines() {
  std::vector<std::unique_ptr<GemmEngine>> engines;
  for (const GemmChoice choice :
       {GemmChoice::automatic, GemmChoice::measure, GemmChoice::cublaslt, GemmChoice::hipblaslt,
        GemmChoice::onednn, GemmChoice::tiles, GemmChoice::kokkos}) {
    KernelOptions options;
    options.gemm = choice;
    try {
      engines.push_back(make_gemm_engine(options));
    } catch (const Error&) {  // not in this build
    }
  }
  return engines;
}

TEST(GemmWorkspace, OfAMicroBatchServesARaggedOne) {
  for (const auto& engine : all_engines()) {
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
      for (const std::int64_t planned : {256, 833, 1024, 2048}) {
        for (std::int64_t rows = 1; rows < planned; rows += static_cast<std::int64_t>(test::case_step)) {
          const auto expect = [&](const GemmProblem& less, const GemmProblem& whole) {
            ASSERT_LE(engine->workspace_bytes(less), engine->workspace_bytes(whole))
                << fmt::format("{}, {}: {} of {} rows", engine->name(), name_of(type), rows, planned);
          };
          expect(linear_output(rows, 784, 1024, type), linear_output(planned, 784, 1024, type));
          expect(linear_input_gradient(rows, 784, 1024, type),
                 linear_input_gradient(planned, 784, 1024, type));
          expect(linear_weight_gradient(rows, 784, 1024, type, type),
                 linear_weight_gradient(planned, 784, 1024, type, type));
        }
      }
    }
  }
}

TEST(GemmWorkspace, NeverShrinksWithAnyExtent) {
  std::mt19937_64 generator(5);
  const auto drawn = [&] {
    return static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution<double>(0, 12)(generator)));
  };
  for (const auto& engine : all_engines()) {
    for (int round = 0; round < test::cases(2000); ++round) {
      GemmProblem whole{.m = drawn(), .n = drawn(), .k = drawn(), .transpose_a = round % 2 == 0};
      whole.a = whole.b = whole.c = round % 3 == 0 ? DType::fp32 : round % 3 == 1 ? DType::bf16 : DType::fp16;
      GemmProblem less = whole;
      less.m = std::uniform_int_distribution<std::int64_t>(1, whole.m)(generator);
      less.n = std::uniform_int_distribution<std::int64_t>(1, whole.n)(generator);
      less.k = std::uniform_int_distribution<std::int64_t>(1, whole.k)(generator);
      ASSERT_LE(engine->workspace_bytes(less), engine->workspace_bytes(whole))
          << fmt::format("{}, {}: {} x {} x {} of {} x {} x {}", engine->name(), name_of(whole.a), less.m,
                         less.n, less.k, whole.m, whole.n, whole.k);
      GemmBatch few = batch_of(less, 4);
      GemmBatch many = batch_of(whole, 7);
      few.together = many.together = true;
      ASSERT_LE(engine->batch_workspace_bytes(few), engine->batch_workspace_bytes(many));
    }
  }
}

TEST(NormWorkspace, OfAMicroBatchServesARaggedOne) {
  for (std::int64_t rows = 2; rows < 20000; ++rows) {
    ASSERT_LE(layernorm_backward_workspace(rows - 1, 3), layernorm_backward_workspace(rows, 3)) << rows;
    ASSERT_LE(rmsnorm_backward_workspace(rows - 1, 3), rmsnorm_backward_workspace(rows, 3)) << rows;
  }
}

}  // namespace mylos::gemm_workspace_test
