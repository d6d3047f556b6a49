// Batches of every engine of this build, against sums in double: every form of GEMM and combination of types,
// with contiguous matrices and with gaps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>

#include "kernels/matrix.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos::gemm_batch_test {

constexpr float between = 77;  // the value in gaps, and in results before the run

/// The operands of a batch. Each is a row that holds its matrices and the gaps between them.
struct BatchOperands {
  explicit BatchOperands(const GemmBatch& batch, const GemmEngine& engine)
      : a(drawn(batch.one.a, batch.count, batch.stride_a, 1)),
        b(drawn(batch.one.b, batch.count, batch.stride_b, 2)),
        c(batch.one.c, 1, batch.count * batch.stride_c,
          std::vector<float>(static_cast<std::size_t>(batch.count * batch.stride_c), between)),
        workspace("workspace", engine.batch_workspace_bytes(batch)) {}

  static test::Matrix drawn(DType type, std::int64_t count, std::int64_t stride, unsigned seed) {
    return {type, 1, count * stride, test::random_values(type, count * stride, -1, 1, seed)};
  }
  void run(GemmEngine& engine, const GemmBatch& batch) const {
    const Execution exec;
    engine.run_batched(exec, batch, {a.tensor().data(), b.tensor().data(), c.tensor().data()},
                       workspace.data());
    exec.fence();
  }

  test::Matrix a, b, c;
  Arena workspace;
};

/// Compares each GEMM as test_gemm.cpp does.
void expect_right(GemmEngine& engine, const GemmBatch& batch) {
  const BatchOperands operands(batch, engine);
  operands.run(engine, batch);
  const auto [a, b, c] = std::tuple{operands.a.values(), operands.b.values(), operands.c.values()};
  const GemmProblem& one = batch.one;
  for (std::int64_t gemm = 0; gemm < batch.count; ++gemm) {
    for (std::int64_t at = 0; at < batch.stride_c; ++at) {
      const double found = c[static_cast<std::size_t>(gemm * batch.stride_c + at)];
      if (at >= one.m * one.n) {
        ASSERT_EQ(found, between) << "the gap after GEMM " << gemm;
        continue;
      }
      const std::int64_t i = at / one.n;
      const std::int64_t j = at % one.n;
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t p = 0; p < one.k; ++p) {
        const std::int64_t in_a = one.transpose_a ? p * one.m + i : i * one.k + p;
        const std::int64_t in_b = one.transpose_b ? j * one.k + p : p * one.n + j;
        const double term = static_cast<double>(a[static_cast<std::size_t>(gemm * batch.stride_a + in_a)]) *
                            static_cast<double>(b[static_cast<std::size_t>(gemm * batch.stride_b + in_b)]);
        sum += term;
        magnitude += std::abs(term);
      }
      const double summing = test::summing_error(static_cast<double>(one.k), magnitude, 2);
      ASSERT_NEAR(found, sum, summing + test::rounding_error(one.c, std::abs(sum) + summing))
          << "GEMM " << gemm << ", row " << i << ", column " << j;
    }
  }
}

void expect_right_packed_and_with_gaps(GemmEngine& engine, const GemmProblem& one) {
  SCOPED_TRACE(fmt::format("{}, {} x {} x {} of {} as {}", engine.name(), one.m, one.n, one.k, name_of(one.a),
                           name_of(one.c)));
  expect_right(engine, batch_of(one, 1));
  GemmBatch batch = batch_of(one, 5);
  expect_right(engine, batch);
  batch.stride_a += 8;
  batch.stride_b += 3;
  batch.stride_c += 5;
  expect_right(engine, batch);
  batch.together = true;
  expect_right(engine, batch);
}

class BatchesOfEveryEngine : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<GemmEngine> engine_ = make_gemm_engine({.gemm = gemm_engine_named(GetParam())});
};

INSTANTIATE_TEST_SUITE_P(Gemm, BatchesOfEveryEngine, testing::ValuesIn(gemm_engine_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(BatchesOfEveryEngine, AreTheirGemmsAndNothingBetweenThem) {
  for (const auto& [length, width] : {std::pair{33, 5}, std::pair{40, 64}}) {
    for (const DType type : test::all_types) {
      for (const DType result : {type, DType::fp32}) {
        for (GemmProblem one :
             {linear_output(length, width, length, type), linear_input_gradient(length, width, length, type),
              linear_weight_gradient(length, width, length, type, type)}) {
          one.c = result;
          expect_right_packed_and_with_gaps(*engine_, one);
        }
      }
    }
  }
}

TEST_P(BatchesOfEveryEngine, AreComputedTogetherWithLongSumsAndManyRows) {
  for (const DType type : test::all_types) {
    for (const bool transposed : {false, true}) {
      GemmBatch batch =
          batch_of({.m = 70, .n = 50, .k = 1301, .transpose_a = transposed, .a = type, .b = type}, 3);
      batch.together = true;
      SCOPED_TRACE(fmt::format("{}, {}, transposed {}", engine_->name(), name_of(type), transposed));
      expect_right(*engine_, batch);
    }
  }
}

TEST_P(BatchesOfEveryEngine, ReadOneMatrixForAllOfThem) {
  for (const DType type : test::all_types) {
    GemmBatch batch = batch_of({.m = 13, .n = 70, .k = 37, .a = type, .b = type, .c = type}, 6);
    batch.together = true;
    const BatchOperands separate(batch, *engine_);
    GemmBatch shared = batch;
    shared.stride_a = 0;
    separate.run(*engine_, shared);
    const std::vector<float> once = separate.c.values();
    std::vector<float> copies;
    const std::vector<float> a = separate.a.values();
    for (int i = 0; i < 6; ++i) copies.insert(copies.end(), a.begin(), a.begin() + 13 * 37);
    test::set_values(separate.a, copies);
    separate.run(*engine_, batch);
    EXPECT_EQ(separate.c.values(), once) << name_of(type);
  }
}

TEST_P(BatchesOfEveryEngine, AreOfGemmsAlone) {
  const GemmBatch plain = batch_of(linear_output(4, 4, 4, DType::fp32), 2);
  const BatchOperands operands(plain, *engine_);
  GemmBatch none = plain;
  none.count = 0;
  EXPECT_THROW(operands.run(*engine_, none), Error);
  for (bool GemmProblem::*more :
       {&GemmProblem::accumulate, &GemmProblem::bias, &GemmProblem::relu, &GemmProblem::row_sums}) {
    GemmBatch batch = plain;
    batch.one.*more = true;
    EXPECT_THROW(operands.run(*engine_, batch), Error);
  }
}

}  // namespace mylos::gemm_batch_test
