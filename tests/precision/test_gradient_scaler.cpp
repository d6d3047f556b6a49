// The loss scaler of a program that computes its own gradients, on any number of ranks.
#include "mylos/precision/gradient_scaler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/device_values.hpp"
#include "support/refusal.hpp"

namespace mylos::gradient_scaler_test {

template <class T>
using Numbers = Kokkos::View<T*, Device>;

int rank_in_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int ranks_in_world() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

template <class T>
Numbers<T> numbers(const std::vector<float>& values) {
  std::vector<T> converted;
  for (const float value : values) converted.push_back(from_float<T>(value));
  return test::on_device(converted);
}

TEST(GradientScaler, DividesEveryTypeByItsScale) {
  GradientScaler scaler(ScalerOptions{.initial_scale = 1024});
  const auto floats = numbers<float>({1024, -3, 0, 7e30f});
  const auto halves = numbers<half>({1024, -3, 0, 60000});
  const auto bfloats = numbers<bfloat16>({1024, -3, 0, 60000});
  scaler.unscale_and_check(floats);
  scaler.unscale_and_check(halves);
  scaler.unscale_and_check(bfloats);
  EXPECT_EQ(test::on_host(floats), (std::vector<float>{1, -3.0f / 1024, 0, 7e30f / 1024}));
  EXPECT_EQ(to_float(test::on_host(halves)[3]), test::rounded_to(DType::fp16, 60000.0f / 1024));
  EXPECT_EQ(to_float(test::on_host(bfloats)[1]), test::rounded_to(DType::bf16, -3.0f / 1024));
  EXPECT_TRUE(scaler.update());
  EXPECT_EQ(scaler.overflow_rank(), -1);
}

TEST(GradientScaler, OneRanksOverflowLowersTheScaleOfAll) {
  const int last = ranks_in_world() - 1;
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    GradientScaler scaler(ScalerOptions{.growth_interval = 2}, MPI_COMM_WORLD);
    const bool guilty = rank_in_world() == last;
    std::vector<float> values(10000, 1.0f);
    if (guilty) values[7777] = bad;
    scaler.unscale_and_check(numbers<float>(values));
    scaler.unscale_and_check(numbers<float>({1, 2, 3}));  // does not make up for it
    EXPECT_FALSE(scaler.update());
    EXPECT_EQ(scaler.overflow_rank(), last);
    EXPECT_EQ(scaler.scale(), 32768);
    for (int step = 0; step < 2; ++step) {
      const auto good = numbers<float>({scaler.scale()});
      scaler.unscale_and_check(good);
      EXPECT_EQ(test::on_host(good)[0], 1);
      EXPECT_TRUE(scaler.update());
      EXPECT_EQ(scaler.overflow_rank(), -1);
    }
    EXPECT_EQ(scaler.scale(), 65536);  // grown again
    if (guilty) scaler.note_overflow();
    EXPECT_FALSE(scaler.update());
    EXPECT_EQ(scaler.statistics().steps, 4);
    EXPECT_EQ(scaler.statistics().overflows, 2);
  }
}

TEST(GradientScaler, AStateContinuesInAnotherScaler) {
  GradientScaler first(ScalerOptions{.growth_interval = 3}, MPI_COMM_WORLD);
  first.note_overflow();
  first.update();
  first.update();
  GradientScaler second(ScalerOptions{.growth_interval = 3}, MPI_COMM_WORLD);
  second.set_state(first.state());
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(first.update(), second.update());
    EXPECT_EQ(first.scale(), second.scale());
  }
  ScalerState impossible;
  impossible.scale = -1;
  EXPECT_TRUE(test::refuses(ErrorId::bad_call, {"set_state"}, [&] { second.set_state(impossible); }));
}

TEST(GradientScaler, DivergesWhereNoLowerScaleHelps) {
  GradientScaler scaler(ScalerOptions{.initial_scale = 2, .max_consecutive_skips = 2}, MPI_COMM_WORLD);
  for (int step = 0; step < 2; ++step) {
    scaler.note_overflow();
    EXPECT_FALSE(scaler.update());
  }
  scaler.note_overflow();
  EXPECT_TRUE(test::refuses(ExitCode::diverged, ErrorId::diverged, {"2 steps", "scale 1"},
                            [&] { static_cast<void>(scaler.update()); }));
}

TEST(GradientScaler, RefusesViewsWithGapsAndANullCommunicator) {
  const Kokkos::View<float**, Kokkos::LayoutRight, Device> all("all", 4, 4);
  GradientScaler scaler;
  EXPECT_TRUE(test::refuses(ErrorId::bad_call, {"gaps"}, [&] {
    scaler.unscale_and_check(Kokkos::subview(all, Kokkos::ALL, Kokkos::pair<std::size_t, std::size_t>(0, 2)));
  }));
  EXPECT_TRUE(test::refuses(ErrorId::bad_call, {"MPI_COMM_NULL"},
                            [] { GradientScaler(ScalerOptions{}, MPI_COMM_NULL); }));
}

}  // namespace mylos::gradient_scaler_test
