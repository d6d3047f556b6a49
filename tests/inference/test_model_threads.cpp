// One model and many threads of the program: the bits of one thread, each call in a workspace of its own.
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cfenv>
#include <cmath>
#include <thread>

#include "inference/stored_models.hpp"
#include "io/support.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/inference/ensemble.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"

namespace mylos::model_threads_test {

using test::StoredModel;
using testing_support::AllocationsByLabel;
using Numbers = std::vector<double>;

class ModelThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (!memory_is_host) GTEST_SKIP() << "kernels run on a device";
  }
  /// Returns outputs of inputs that depend on `seed`.
  static Numbers outputs_of(const Model& model, std::int64_t samples, int seed) {
    using Rows = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    const auto rows = static_cast<std::size_t>(samples);
    const auto inputs = static_cast<std::size_t>(model.inputs());
    const auto outputs = static_cast<std::size_t>(model.outputs());
    Numbers x(rows * inputs);
    Numbers y(rows * outputs);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.1 * static_cast<double>(i) + seed);
    model.infer(Execution(), Rows(x.data(), rows, inputs), Rows(y.data(), rows, outputs));
    return y;
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string file = folder.path() + "/network.h5";
};

TEST_F(ModelThreads, GetTheBitsOfOneWhoeverStartsThem) {
  constexpr int threads = 8;
  constexpr int calls = 200;
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const Options& options : {test::vector_options(type), test::grid_options(type)}) {
      const StoredModel stored(ranks, file, options, true);
      const Model alone(file);
      const Model model(file, {.threads = threads});
      EXPECT_EQ(model.threads(), threads);
      std::vector<Numbers> expected;
      for (int seed = 0; seed < threads; ++seed) expected.push_back(outputs_of(alone, 3, seed));
      std::atomic<int> wrong{0};
      const auto work = [&](int seed) {
        for (int call = 0; call < calls; ++call)
          wrong += outputs_of(model, 3, seed) == expected[static_cast<std::size_t>(seed)] ? 0 : 1;
      };
      std::vector<std::thread> own;
      for (int seed = 0; seed < threads; ++seed) own.emplace_back(work, seed);
      for (std::thread& each : own) each.join();
      EXPECT_EQ(wrong, 0) << "threads of the program, " << name_of(type);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int seed = 0; seed < threads; ++seed) work(seed);
      EXPECT_EQ(wrong, 0) << "threads of a region, " << name_of(type);
    }
  }
}

/// A call more than there are workspaces is refused, or comes when one is free; none is wrong.
TEST_F(ModelThreads, MoreThanTheModelHasWorkspacesForAreRefused) {
  constexpr int threads = 6;
  const StoredModel stored(ranks, file, test::grid_options(DType::fp32), true);
  const Model model(file, {.threads = 2});
  const Numbers expected = outputs_of(model, 3, 1);
  std::atomic<int> right{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> own;
  for (int thread = 0; thread < threads; ++thread) {
    own.emplace_back([&] {
      for (int call = 0; call < 200; ++call) {
        try {
          right += outputs_of(model, 3, 1) == expected ? 1 : 0;
        } catch (const Error& error) {
          refused += error.id() == errors::bad_call && error.code() == ExitCode::failed ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& each : own) each.join();
  EXPECT_EQ(right + refused, threads * 200);
  EXPECT_GE(right, 1);
}

TEST_F(ModelThreads, TakeTheBytesThatAreStated) {
  for (const Options& options : {test::vector_options(DType::bf16), test::grid_options(DType::fp32)}) {
    const StoredModel stored(ranks, file, options, true);
    const InferenceBytes one = Model::memory_of(file);
    const InferenceBytes stated = Model::memory_of(file, {.threads = 5});
    EXPECT_EQ(stated.weights, one.weights);
    EXPECT_EQ(stated.workspace, 5 * one.workspace);
    const AllocationsByLabel allocations;
    const Model model(file, {.threads = 5});
    EXPECT_EQ(AllocationsByLabel::total(), stated.total());
    EXPECT_EQ(model.bytes().total(), stated.total());
    const Model clone = model.clone();
    EXPECT_EQ(clone.threads(), 5);
    EXPECT_EQ(outputs_of(clone, 3, 1), outputs_of(model, 3, 1));
  }
}

TEST_F(ModelThreads, LeaveTheFloatingPointEnvironmentAndOpenMpAsTheyWere) {
  const StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  const Model model(file, {.threads = 2});
  const Numbers expected = outputs_of(model, 40, 1);
  const int before = omp_get_max_threads();
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
  static_cast<void>(outputs_of(model, 40, 1));
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(omp_get_max_threads(), before);
  EXPECT_EQ(outputs_of(model, 40, 1), expected);
}

TEST_F(ModelThreads, AreAtLeastOneAndOfModelsAlone) {
  const StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  for (const int threads : {0, -1, 100000}) {
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_call, {"threads", std::to_string(threads)},
                              [&] { const Model model(file, {.threads = threads}); }));
  }
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_call, {"threads", "ensemble"}, [&] {
    const Ensemble ensemble({file, file + "2"}, {.threads = 2});
  }));
}

}  // namespace mylos::model_threads_test
