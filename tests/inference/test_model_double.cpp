// Models that compute in double. tests/bindings/test_double.py compares their numbers with NumPy's.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "inference/stored_models.hpp"
#include "io/support.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/inference/ensemble.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"

namespace mylos::model_double_test {

using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

Options smooth(Loss loss = losses::Mse{}, Activation activation = Activation::gelu) {
  Options options = test::vector_options(DType::bf16, loss);
  options.model.activation = activation;
  options.model.norm = NormType::layernorm;
  return options;
}

std::vector<double> numbers_of(const Matrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

class ModelDouble : public testing::Test {
 protected:
  /// Writes the file, and opens it in double.
  Model open(const Options& options, int threads = 1) {
    const test::StoredModel stored(ranks, path, options, is_of_numbers(options.model.prediction()));
    return Model(path, {.threads = threads, .derivatives = true, .in_double = true});
  }
  static Matrix samples_of(const Model& model, std::size_t count) {
    Matrix x("x", count, static_cast<std::size_t>(model.inputs()));
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = std::sin(0.7 * static_cast<double>(i) + 1);
    return x;
  }
  [[nodiscard]] Matrix inferred(const Model& model, const Matrix& x, Units units = Units::data) const {
    Matrix y("y", x.extent(0), static_cast<std::size_t>(model.outputs()));
    model.infer(exec, x, y, units);
    return y;
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string path = folder.path() + "/model.h5";
};

TEST_F(ModelDouble, OutputsAreThoseOfFloatButForItsRounding) {
  for (const Loss& loss : {Loss(losses::Mse{}), Loss(losses::Gaussian{}), Loss(losses::CrossEntropy{}),
                           Loss(losses::BinaryCrossEntropy{})}) {
    Options options = smooth(loss);
    options.precision.compute = DType::fp32;
    const Model model = open(options);
    const Model in_float(path);
    EXPECT_TRUE(model.in_double());
    EXPECT_FALSE(in_float.in_double());
    const Matrix x = samples_of(model, 61);  // more than a block, and no multiple of one
    for (const Units units : {Units::data, Units::network}) {
      const Matrix y = inferred(model, x, units);
      const Matrix rounded = inferred(in_float, x, units);
      double largest = 0;
      for (const double number : numbers_of(y)) largest = std::max(largest, std::abs(number));
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y.data()[i], rounded.data()[i], 1e-5 * largest) << "number " << i;
    }
  }
}

TEST_F(ModelDouble, InputsThatDifferByLessThanFloatHasGiveOtherOutputs) {
  const Model model = open(smooth());
  const Matrix x = samples_of(model, 1);
  const Matrix before = inferred(model, x);
  x(0, 0) += 1e-12;
  const Matrix after = inferred(model, x);
  Matrix direction("dx", 1, 6), slope("dy", 1, 4);
  direction(0, 0) = 1;
  model.jvp(exec, x, direction, slope);
  for (std::size_t o = 0; o < 4; ++o) EXPECT_NEAR(after(0, o) - before(0, o), 1e-12 * slope(0, o), 2e-15);
}

TEST_F(ModelDouble, DerivativesInUnitsOfTheNetworkAreThoseOfItsOutputs) {
  for (const Loss& loss : {Loss(losses::Gaussian{}), Loss(losses::CrossEntropy{})}) {
    const Model model = open(smooth(loss));
    const Matrix x = samples_of(model, 1);
    Matrix j("j", 1, static_cast<std::size_t>(model.outputs() * model.inputs()));
    model.jacobian(exec, x, j, Units::network);
    for (std::size_t i = 0; i < 6; ++i) {
      const double at = x(0, i);
      constexpr double step = 1e-4;
      x(0, i) = at + step;
      const Matrix above = inferred(model, x, Units::network);
      x(0, i) = at - step;
      const Matrix below = inferred(model, x, Units::network);
      x(0, i) = at;
      for (std::size_t o = 0; o < above.size(); ++o)
        EXPECT_NEAR(j(0, o * 6 + i), (above(0, o) - below(0, o)) / (2 * step), 1e-6);
    }
  }
}

TEST_F(ModelDouble, ArraysMayHaveAnyStridesAndTypes) {
  const Model model = open(smooth());
  const Matrix x = samples_of(model, 30);
  const Matrix expected = inferred(model, x);
  test::StridedArray<double> strided({5, 6, 6}, {0, 2, 1}, 2);
  test::StridedArray<float> rounded({5, 6, 4}, {1, 0, 2}, 3);
  for (std::int64_t i = 0; i < strided.size(); ++i) strided.at(i) = x.data()[i];
  model.infer(exec, strided.const_array(), rounded.array());
  for (std::int64_t i = 0; i < rounded.size(); ++i)
    EXPECT_EQ(rounded.at(i), static_cast<float>(expected.data()[i]));
  EXPECT_EQ(rounded.written(), rounded.size());
  Kokkos::View<double***, Kokkos::LayoutLeft, Kokkos::HostSpace> turned("j", 30, 4, 6);
  Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> j("j", 30, 4, 6);
  model.jacobian(exec, x, j);
  model.jacobian(exec, x, turned);
  for (std::size_t s = 0; s < 30; ++s)
    for (std::size_t o = 0; o < 4; ++o)
      for (std::size_t i = 0; i < 6; ++i) ASSERT_EQ(turned(s, o, i), j(s, o, i));
}

TEST_F(ModelDouble, ClonesAndThreadsComputeTheSameBits) {
  constexpr int threads = 3;
  const Model model = open(smooth(), threads);
  const Model alone(path, {.derivatives = true, .in_double = true});
  const Model clone = alone.clone();
  const Matrix x = samples_of(model, 50);
  const std::vector<double> expected = numbers_of(inferred(alone, x));
  EXPECT_EQ(numbers_of(inferred(clone, x)), expected);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      for (int call = 0; call < 50; ++call) wrong += numbers_of(inferred(model, x)) == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ModelDouble, StatesItsMemoryAndAllocatesNothingInACall) {
  open(smooth(losses::Gaussian{}));
  for (const int threads : {1, 3}) {
    const testing_support::AllocationsByLabel allocations;
    const LoadOptions options{.max_samples = 7, .threads = threads, .derivatives = true, .in_double = true};
    const Model counted(path, options);
    EXPECT_EQ(testing_support::AllocationsByLabel::total(), counted.bytes().total()) << threads << " threads";
    EXPECT_EQ(Model::memory_of(path, options).total(), counted.bytes().total());
    EXPECT_EQ(counted.clone().bytes().total(), counted.bytes().total());
  }
  const Model model(path, {.derivatives = true, .in_double = true});
  const Matrix x = samples_of(model, 40), dx("dx", 40, 6), y("y", 40, 4), deviation("deviation", 40, 4);
  const auto call_all = [&] {
    model.infer(exec, x, y);
    model.infer_deviation(exec, x, y, deviation);
    model.vjp(exec, x, y, dx);
    model.jvp(exec, x, dx, y);
  };
  call_all();
  const long before = testing_support::allocations();
  call_all();
  EXPECT_EQ(testing_support::allocations(), before);
}

TEST_F(ModelDouble, WhatCannotBeInDoubleIsRefused) {
  const test::StoredModel stored(ranks, path, test::grid_options(DType::fp32), true);
  EXPECT_TRUE(test::refuses(errors::unsupported_feature, {"'conv1'", "in double", "LoadOptions::in_double"},
                            [&] { Model(path, {.in_double = true}); }));
  open(smooth());
  const Model plain(path, {.in_double = true});
  const Matrix x = samples_of(plain, 1), dx("dx", 1, 6), y("y", 1, 4);
  EXPECT_TRUE(test::refuses(errors::bad_call, {"Model::vjp", "LoadOptions::derivatives"},
                            [&] { plain.vjp(exec, x, y, dx); }));
  const std::string other = folder.path() + "/other.h5";
  std::filesystem::copy_file(path, other);
  EXPECT_TRUE(test::refuses(errors::bad_call, {"LoadOptions::in_double"}, [&] {
    Ensemble({path, other}, {.in_double = true});
  }));
}

}  // namespace mylos::model_double_test
