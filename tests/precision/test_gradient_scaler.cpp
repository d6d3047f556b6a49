// The loss scaler of a program that computes its own gradients, on any number of ranks.
#include "mylos/precision/gradient_scaler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/precision/scaler_presets.hpp"
#include "support/allocation_counter.hpp"
#include "support/device_values.hpp"
#include "support/device_views.hpp"
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

TEST(GradientScaler, DividesDoublesInDouble) {
  GradientScaler scaler(ScalerOptions{.initial_scale = 3});
  const double tiny = 1e-300;
  const auto doubles = test::on_device(std::vector<double>{1, -7, tiny});
  const Numbers<float> floats("quotients", 3);
  scaler.unscale_and_check(doubles, floats);
  EXPECT_EQ(test::on_host(floats), (std::vector<float>{1.0f / 3, static_cast<float>(-7.0 / 3), 0}));
  scaler.unscale_and_check(doubles);
  EXPECT_EQ(test::on_host(doubles), (std::vector<double>{1.0 / 3, -7.0 / 3, tiny / 3}));
  EXPECT_FALSE(scaler.has_overflow());
  scaler.unscale_and_check(test::on_device(std::vector<double>{std::numeric_limits<double>::infinity()}));
  EXPECT_TRUE(scaler.has_overflow());
}

TEST(GradientScaler, SaysWhatAStepDidToTheScale) {
  GradientScaler scaler(ScalerOptions{.initial_scale = 1024, .growth_interval = 2, .hysteresis = 2});
  const auto expect = [](const ScaleUpdate& found, bool is_finite, ScaleEvent event, float before,
                         float after) {
    EXPECT_EQ(found.is_finite, is_finite);
    EXPECT_EQ(static_cast<bool>(found), is_finite);
    EXPECT_EQ(found.event, event);
    EXPECT_EQ(found.old_scale, before);
    EXPECT_EQ(found.new_scale, after);
  };
  const auto overflow = [&] {
    EXPECT_FALSE(scaler.has_overflow());
    scaler.note_overflow();
    EXPECT_TRUE(scaler.has_overflow());
    return scaler.update();
  };
  expect(overflow(), false, ScaleEvent::tolerated, 1024, 1024);
  expect(overflow(), false, ScaleEvent::decreased, 1024, 512);
  expect(scaler.update(), true, ScaleEvent::unchanged, 512, 512);
  expect(scaler.update(), true, ScaleEvent::increased, 512, 1024);
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
  EXPECT_TRUE(test::refuses(errors::bad_call, {"set_state"}, [&] { second.set_state(impossible); }));
}

TEST(GradientScaler, AStateReplacesWhatWasNotedAndTheScaleThatGradientsAreDividedBy) {
  GradientScaler scaler(ScalerOptions{.initial_scale = 1024});
  const ScalerState other = GradientScaler(ScalerOptions{.initial_scale = 8}).state();
  scaler.note_overflow();
  scaler.set_state(other);
  const auto values = numbers<float>({8, -24});
  scaler.unscale_and_check(values);
  EXPECT_EQ(test::on_host(values), (std::vector<float>{1, -3}));
  EXPECT_TRUE(scaler.update()) << "the overflow was of the step before the state";
  EXPECT_EQ(scaler.scale(), 8);
}

TEST(GradientScaler, TheBytesOfAStateContinueInAnotherScaler) {
  static_assert(std::is_trivially_copyable_v<ScalerState>);
  GradientScaler first(ScalerOptions{.growth_interval = 3, .hysteresis = 2});
  first.note_overflow();
  first.update();
  std::array<std::byte, sizeof(ScalerState)> file{};
  std::memcpy(file.data(), &first.state(), file.size());
  ScalerState read;
  std::memcpy(&read, file.data(), file.size());
  GradientScaler second(ScalerOptions{.growth_interval = 3, .hysteresis = 2});
  second.set_state(read);
  second.note_overflow();
  EXPECT_FALSE(second.update());
  EXPECT_EQ(second.scale(),
            32768);  // the second overflow since the start, of which one was before the restart
}

TEST(GradientScaler, WritesQuotientsOfAnotherTypeBesideTheGradients) {
  GradientScaler scaler(ScalerOptions{.initial_scale = 65536});
  const auto halves = numbers<half>({1, -3, 0, 60000});
  const Kokkos::View<float**, Kokkos::LayoutRight, Device> floats("quotients", 2, 2);
  scaler.unscale_and_check(halves, floats);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), floats);
  EXPECT_EQ(host(0, 0), 1.0f / 65536);  // half has 1.5e-5 only with 9 digits
  EXPECT_EQ(host(0, 1), -3.0f / 65536);
  EXPECT_EQ(host(1, 1), test::rounded_to(DType::fp16, 60000) / 65536);
  EXPECT_EQ(to_float(test::on_host(halves)[1]), -3);
  EXPECT_TRUE(scaler.update());
  const Numbers<float> three("three", 3);
  EXPECT_TRUE(test::refuses(errors::bad_call, {"4 gradients", "3 quotients"},
                            [&] { scaler.unscale_and_check(halves, three); }));
}

TEST(GradientScaler, AQuotientThatItsTypeCannotHoldIsAnOverflow) {
  GradientScaler scaler(ScalerOptions{.mode = ScalerMode::fixed, .initial_scale = 0.5});
  scaler.unscale_and_check(numbers<half>({1, 30000}));
  EXPECT_FALSE(scaler.has_overflow());
  scaler.unscale_and_check(numbers<half>({1, 60000}));
  EXPECT_TRUE(scaler.has_overflow()) << "120000";
  EXPECT_FALSE(scaler.update());
  const auto floats = numbers<float>({1, 60000});
  const Numbers<half> halves("quotients", 2);
  scaler.unscale_and_check(floats, halves);
  EXPECT_TRUE(scaler.has_overflow()) << "of finite gradients in a wider type";
}

TEST(GradientScaler, RefusesQuotientsWhoseRowsAreOfAnotherLength) {
  GradientScaler scaler;
  const Kokkos::View<half**, Kokkos::LayoutRight, Device> gradients("gradients", 2, 6);
  const Kokkos::View<float**, Kokkos::LayoutRight, Device> other("other", 3, 4);
  EXPECT_TRUE(test::refuses(errors::bad_call, {"extent 0 is 2", "3 of the other"},
                            [&] { scaler.unscale_and_check(gradients, other); }));
  const Kokkos::View<float**, Kokkos::LayoutRight, Device> same("same", 2, 6);
  scaler.unscale_and_check(gradients, same);
  EXPECT_TRUE(scaler.update());
}

/// torch.amp.GradScaler's rule, as its documentation states it: an overflow multiplies the scale by the
/// backoff factor, and growth_interval steps in a row without one multiply it by the growth factor.
struct TorchScale {
  double scale = 65536;
  int good_steps = 0;

  void step(bool overflow, double growth, double backoff, int interval) {
    good_steps = overflow ? 0 : good_steps + 1;
    if (overflow) scale *= backoff;
    if (good_steps < interval) return;
    scale *= growth;
    good_steps = 0;
  }
};

/// Which rank overflows in a step, in which of its arrays; -1: none does.
int bad_array(int step, int rank, int ranks) {
  const int draw = (step * 7919 + 104729) % 31;
  const bool is_bad = draw < 2 && (step * 31 + draw) % ranks == rank;
  return is_bad ? step % 3 : -1;
}

TEST(GradientScaler, FollowsTorchsRuleOverGradientsOfEveryTypeOnAllRanks) {
  const int rank = rank_in_world();
  const int ranks = ranks_in_world();
  constexpr int interval = 5;
  GradientScaler scaler(ScalerOptions{.growth_factor = 1.5,
                                      .backoff_factor = 0.25,
                                      .growth_interval = interval,
                                      .min_scale = 1e-30,
                                      .max_scale = 1e30},
                        MPI_COMM_WORLD);
  const Numbers<half> halves("half", 1000);
  const Numbers<bfloat16> bfloats("bfloat16", 77);
  const Numbers<float> floats("float", 4099);
  TorchScale expected;
  int increases = 0;
  int decreases = 0;
  long allocations = 0;
  for (int step = 0; step < 200; ++step) {
    const int bad = bad_array(step, rank, ranks);
    Kokkos::deep_copy(halves, from_float<half>(bad == 0 ? std::numeric_limits<float>::infinity() : 2));
    Kokkos::deep_copy(bfloats, from_float<bfloat16>(bad == 1 ? std::nanf("") : -3));
    Kokkos::deep_copy(floats, bad == 2 ? -std::numeric_limits<float>::infinity() : 5.0f);
    const long before = testing_support::allocations();
    scaler.unscale_and_check(halves);
    scaler.unscale_and_check(bfloats);
    scaler.unscale_and_check(floats);
    const bool finite = scaler.update();
    if (step > 0) allocations += testing_support::allocations() - before;
    bool any = false;
    for (int other = 0; other < ranks; ++other) any = any || bad_array(step, other, ranks) >= 0;
    const double old = expected.scale;
    expected.step(any, 1.5, 0.25, interval);
    increases += expected.scale > old ? 1 : 0;
    decreases += expected.scale < old ? 1 : 0;
    ASSERT_EQ(finite, !any) << step;
    ASSERT_FLOAT_EQ(scaler.scale(), static_cast<float>(expected.scale)) << step;
  }
  if (memory_is_host) {
    EXPECT_EQ(allocations, 0) << "calls of operator new";
  }
  EXPECT_GT(increases, 5);
  EXPECT_GT(decreases, 5);
  EXPECT_EQ(scaler.statistics().increases, increases);
  EXPECT_EQ(scaler.statistics().decreases, decreases);
}

TEST(GradientScaler, RefusesOptionsThatADeckCouldNotHave) {
  const auto refused = [](const std::string& what, const ScalerOptions& options) {
    EXPECT_TRUE(test::refuses(errors::bad_call, {what}, [&] { GradientScaler{options}; })) << what;
  };
  refused("1e-30", {.initial_scale = std::nan("")});
  refused("min_scale <= initial_scale", {.initial_scale = 0.5});
  refused("growth_factor", {.growth_factor = 1});
  refused("backoff_factor", {.backoff_factor = 1});
  refused("growth_interval", {.growth_interval = 0});
  refused("backoff_window from 0", {.backoff_window = 1001});
  refused("hysteresis 1", {.hysteresis = 2, .backoff_window = 10});
  EXPECT_EQ(GradientScaler(ScalerOptions{.mode = ScalerMode::fixed, .initial_scale = 0.5}).scale(), 0.5f);
}

TEST(GradientScaler, RefusesRanksWithDifferentScales) {
  GradientScaler scaler(ScalerOptions{.initial_scale = rank_in_world() == 0 ? 1024.0 : 2048.0},
                        MPI_COMM_WORLD);
  if (ranks_in_world() == 1) {
    EXPECT_TRUE(scaler.update());
    return;
  }
  EXPECT_TRUE(test::refuses(errors::bad_call, {"1024 on rank 0 and 2048 on rank 1"},
                            [&] { static_cast<void>(scaler.update()); }));
}

TEST(ScalerPreset, HasTheValuesOfTheManualUnderItsName) {
  EXPECT_EQ(scaler_preset("standard"), ScalerOptions{});
  const ScalerOptions expected{.initial_scale = 32768, .growth_factor = 1.5, .growth_interval = 5000};
  EXPECT_EQ(scaler_preset("conservative"), expected);
  EXPECT_EQ(scaler_preset("small"), ScalerOptions{});
  EXPECT_EQ(scaler_preset("medium"), (ScalerOptions{.initial_scale = 262144}));
  EXPECT_EQ(scaler_preset("large"), (ScalerOptions{.initial_scale = 1048576, .growth_factor = 1.5}));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"'huge'", "standard, conservative"},
                            [] { static_cast<void>(scaler_preset("huge")); }));
}

TEST(GradientScaler, DivergesWhereNoLowerScaleHelps) {
  GradientScaler scaler(ScalerOptions{.initial_scale = 2, .max_consecutive_skips = 2}, MPI_COMM_WORLD);
  for (int step = 0; step < 2; ++step) {
    scaler.note_overflow();
    EXPECT_FALSE(scaler.update());
  }
  scaler.note_overflow();
  EXPECT_TRUE(test::refuses(ExitCode::diverged, errors::diverged, {"2 steps", "scale 1"},
                            [&] { static_cast<void>(scaler.update()); }));
}

TEST(GradientScaler, RefusesViewsWithGapsAndANullCommunicator) {
  const Kokkos::View<float**, Kokkos::LayoutRight, Device> all("all", 4, 4);
  GradientScaler scaler;
  EXPECT_TRUE(test::refuses(errors::bad_call, {"gaps"}, [&] {
    scaler.unscale_and_check(Kokkos::subview(all, Kokkos::ALL, Kokkos::pair<std::size_t, std::size_t>(0, 2)));
  }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"MPI_COMM_NULL"},
                            [] { GradientScaler(ScalerOptions{}, MPI_COMM_NULL); }));
}

}  // namespace mylos::gradient_scaler_test
