// Clones share weights, infer from threads of a parallel region with the same bits, and allocate nothing.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "inference/stored_models.hpp"
#include "io/support.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/errors/calls.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"
#include "train/engines.hpp"

namespace mylos::model_clones_test {

using test::StoredModel;
using testing_support::AllocationsByLabel;

constexpr int threads = 8;

struct Subject {
  std::string name;
  Options options;
};

/// Networks whose GEMMs oneDNN and the tiles compute, and convolutions of both kinds.
std::vector<Subject> subjects(DType type) {
  Options wide = test::vector_options(type);
  wide.model.inputs = 96;
  wide.model.hidden = {700, 530};
  wide.model.norm = NormType::layernorm;
  Options winograd = test::grid_options(type);
  winograd.model.shape = winograd.data.shape = {16, 12, 16};
  winograd.model.inputs = 16 * 12 * 16;
  winograd.model.outputs = 16 * 12 * 3;
  Options mixed = test::vector_options(type);
  mixed.precision.rules = {{"head", DType::fp32}};
  mixed.model.activation = Activation::gelu;
  return {{"wide", wide}, {"grid", test::grid_options(type)}, {"winograd", winograd}, {"mixed", mixed}};
}

class ModelClones : public testing::Test {
 protected:
  /// Returns outputs of doubles, whose inputs depend on `seed`.
  std::vector<double> outputs_of(const Model& model, std::int64_t samples, int seed) {
    std::vector<double> x(static_cast<std::size_t>(samples * model.inputs()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.1 * static_cast<double>(i) + seed);
    std::vector<double> y(static_cast<std::size_t>(samples * model.outputs()));
    model.infer(exec, described<ConstArray>(x.data(), samples, model.inputs()),
                described<Array>(y.data(), samples, model.outputs()));
    return y;
  }
  template <class Description, class Pointer>
  static Description described(Pointer data, std::int64_t samples, std::int64_t columns) {
    Description array;
    array.data = data;
    array.type = ElementType::fp64;
    array.rank = 2;
    array.extents = {samples, columns};
    array.strides = {columns, 1};
    return array;
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string file = folder.path() + "/network.h5";
};

TEST_F(ModelClones, GiveTheSameBitsInAParallelRegion) {
  if (!memory_is_host) GTEST_SKIP() << "kernels run on a device";
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const Subject& subject : subjects(type)) {
      const StoredModel stored(ranks, file, subject.options, true);
      Model model(file);
      std::vector<Model> clones;
      for (int i = 0; i < threads; ++i) clones.push_back(model.clone());
      for (const std::int64_t samples : {1, 3, 40}) {
        std::vector<std::vector<double>> expected(threads);
        for (int i = 0; i < threads; ++i)
          expected[static_cast<std::size_t>(i)] = outputs_of(model, samples, i);
        std::vector<std::vector<double>> found(threads);
        std::vector<std::string> failures(threads);
#pragma omp parallel num_threads(threads)
        {
          const auto own = static_cast<std::size_t>(omp_get_thread_num());
          try {
            for (int again = 0; again < 3; ++again)
              found[own] = outputs_of(clones[own], samples, static_cast<int>(own));
          } catch (const std::exception& error) {
            failures[own] = error.what();
          }
        }
        for (std::size_t i = 0; i < threads; ++i) {
          EXPECT_EQ(failures[i], "");
          EXPECT_TRUE(found[i] == expected[i]) << subject.name << " in " << name_of(type) << ", " << samples;
        }
        EXPECT_TRUE(outputs_of(clones[0], samples, 0) == expected[0]) << "outside again";
      }
    }
  }
}

TEST_F(ModelClones, OneThreadOfAnInstanceOrOfTheProgramGivesTheSameBits) {
  if (!memory_is_host) GTEST_SKIP() << "kernels run on a device";
  for (const Subject& subject : subjects(DType::fp32)) {
    const StoredModel stored(ranks, file, subject.options, true);
    Model model(file);
    Model clone = model.clone();
    const std::vector<double> expected = outputs_of(model, 40, 1);
    exec = single_thread_instance();
    EXPECT_TRUE(outputs_of(clone, 40, 1) == expected) << subject.name;
    std::vector<double> found;
    std::thread([&] { found = outputs_of(clone, 40, 1); }).join();
    EXPECT_TRUE(found == expected) << subject.name;
    exec = Execution();
  }
}

TEST_F(ModelClones, TwoThreadsOfOneModelGetItsBitsOrAnError) {
  if (!memory_is_host) GTEST_SKIP() << "kernels run on a device";
  constexpr int calls = 500;
  const StoredModel stored(ranks, file, subjects(DType::fp32)[1].options, true);
  Model model(file);
  std::vector<double> expected[] = {outputs_of(model, 1, 0), outputs_of(model, 1, 1)};
  int right[2] = {};
  int refused[2] = {};
  const auto work = [&](int own) {
    for (int i = 0; i < calls; ++i) {
      try {
        right[own] += outputs_of(model, 1, own) == expected[own] ? 1 : 0;
      } catch (const Error& error) {
        refused[own] += error.id() == errors::bad_call && error.code() == ExitCode::failed ? 1 : 0;
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (int own = 0; own < 2; ++own) EXPECT_EQ(right[own] + refused[own], calls);
  EXPECT_TRUE(outputs_of(model, 1, 0) == expected[0]);
}

TEST_F(ModelClones, AForkedProcessWithoutKokkosThreadsIsRefused) {
  if (!memory_is_host || Kokkos::num_threads() == 1) GTEST_SKIP() << "Kokkos has one thread";
  const StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  outputs_of(model, 40, 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // instead of a test that hangs
    const bool is_refused = static_cast<bool>(
        test::refuses(ExitCode::failed, errors::bad_call, {"fork"}, [&] { outputs_of(model, 40, 1); }));
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ModelClones, ARegionLeavesThreadsAndLevelsAsTheyWere) {
  const StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  const int levels = omp_get_max_active_levels();
  const int before = omp_get_max_threads();
  int levels_inside = 0;
  int threads_inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    outputs_of(model, 3, 1);
    levels_inside = omp_get_max_active_levels();
    threads_inside = omp_get_max_threads();
  }
  EXPECT_EQ(levels_inside, levels);
  EXPECT_EQ(threads_inside, before);
  EXPECT_EQ(omp_get_max_active_levels(), levels);
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST_F(ModelClones, RefusesWhatKokkosCannotDoInRegions) {
  const StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  const auto refused = [](auto&& function, const char* part) {
    return test::refuses(ExitCode::failed, errors::bad_call, {part}, function);
  };
  testing::AssertionResult constructed = testing::AssertionFailure();
  testing::AssertionResult cloned = testing::AssertionFailure();
  testing::AssertionResult nested = testing::AssertionFailure();
#pragma omp parallel num_threads(1)
  {
    constructed = refused([&] { Model another(file); }, "Model");
    cloned = refused([&] { static_cast<void>(model.clone()); }, "Model::clone");
#pragma omp parallel num_threads(1)
    nested = refused([&] { outputs_of(model, 1, 1); }, "level 2");
  }
  EXPECT_TRUE(constructed);
  EXPECT_TRUE(cloned);
  EXPECT_TRUE(nested);
}

TEST_F(ModelClones, AllocateTheBytesThatAreStated) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const Subject& subject : subjects(type)) {
      const StoredModel stored(ranks, file, subject.options, true);
      const InferenceBytes stated = Model::memory_of(file);
      const AllocationsByLabel allocations;
      Model model(file);
      EXPECT_EQ(AllocationsByLabel::total(), stated.total()) << subject.name;
      EXPECT_EQ(model.bytes().total(), stated.total());
      const InferenceBytes smaller = Model::memory_of(file, {.max_samples = 1});
      EXPECT_LT(smaller.workspace, stated.workspace);
      const std::size_t one = AllocationsByLabel::total();
      {
        const Model clone = model.clone();
        EXPECT_LE(AllocationsByLabel::total() - one, stated.statistics + stated.workspace) << subject.name;
        EXPECT_GE(AllocationsByLabel::total() - one, stated.workspace) << subject.name;
      }
      EXPECT_EQ(AllocationsByLabel::total(), one);
    }
  }
}

TEST_F(ModelClones, ASecondCallAllocatesNothing) {
  if (!testing_support::has_tiles()) GTEST_SKIP() << "no tiles in this build";
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (Subject& subject : subjects(type)) {
      subject.options.kernels.gemm = GemmChoice::tiles;  // oneDNN 2.6 itself allocates at every call
      const StoredModel stored(ranks, file, subject.options, true);
      Model model(file, {.max_samples = 16});
      std::vector<double> x(static_cast<std::size_t>(40 * model.inputs()), 0.5);
      std::vector<double> y(static_cast<std::size_t>(40 * model.outputs()));
      const auto work = [&] {
        for (const std::int64_t samples : {40, 16, 5, 1}) {
          model.infer(exec, described<ConstArray>(x.data(), samples, model.inputs()),
                      described<Array>(y.data(), samples, model.outputs()));
        }
      };
      const auto work_in_a_region = [&] {
#pragma omp parallel num_threads(2)
#pragma omp single
        work();
      };
      work();
      work_in_a_region();
      const long before = testing_support::allocations();
      work();
      work_in_a_region();
      EXPECT_EQ(testing_support::allocations(), before) << subject.name << " in " << name_of(type);
      const AllocationsByLabel of_kokkos;
      work();
      EXPECT_EQ(AllocationsByLabel::peak(), 0u);
    }
  }
}

TEST_F(ModelClones, ACloneOutlivesItsModel) {
  const StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  auto model = std::make_unique<Model>(file);
  const std::vector<double> expected = outputs_of(*model, 5, 2);
  Model clone = model->clone();
  model.reset();
  EXPECT_EQ(outputs_of(clone, 5, 2), expected);
  Model moved = std::move(clone);
  EXPECT_EQ(outputs_of(moved, 5, 2), expected);
}

}  // namespace mylos::model_clones_test
