// The gradient check: norm and flag of this rank's slices, for all types.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "mylos/base/execution.hpp"
#include "mylos/precision/gradient_check.hpp"
#include "support/device_values.hpp"

namespace mylos::gradient_check_test {

constexpr int rank = 1;  // of 3: neither the first nor the last
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Three slices of different types, sizes and divisors, as in the buckets of a mixed model.
class GradientCheckTest : public testing::Test {
 protected:
  GradientCheckTest() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 40);
    const std::vector<DType> types{DType::fp16, DType::fp32, DType::bf16};
    const std::vector<std::int64_t> lengths{33, 70001, 4096};
    for (std::size_t i = 0; i < 3; ++i) {
      arenas.emplace_back("slice", static_cast<std::size_t>(lengths[i]) * 4);
      slices.push_back(arenas[i].tensor(0, types[i], 1, lengths[i]));
      std::vector<float> drawn(static_cast<std::size_t>(lengths[i]));
      for (float& value : drawn) value = normal(random);
      test::set_values(slices[i], drawn);
    }
  }

  struct Found {
    AgreementFlags flags;
    AgreementSums sums;
  };
  Found check() {
    const Execution exec;
    const AgreementBuffer agreement(rank, 3);
    const GradientCheck gradient_check(slices, divisors, rank);
    gradient_check.run(exec, scale.data(), agreement);
    exec.fence();
    Found found;
    test::copy_to_host(agreement.own_flags(), &found.flags, sizeof(found.flags));
    test::copy_to_host(agreement.own_sums(), &found.sums, sizeof(found.sums));
    return found;
  }
  void set_element(std::size_t slice, std::size_t element, float value) {
    std::vector<float> values = test::values_of(slices[slice]);
    values[element] = value;
    test::set_values(slices[slice], values);
  }

  std::vector<Arena> arenas;
  std::vector<Tensor> slices;
  std::vector<float> divisors{1.0f, 2.56f, 3.0f};
  test::DeviceValue<float> scale{1024.0f};
};

TEST_F(GradientCheckTest, NormIsThatOfTheUnscaledDividedGradients) {
  double expected = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    for (const float value : test::values_of(slices[i])) {
      const double gradient = static_cast<double>(value) / 1024.0 / static_cast<double>(divisors[i]);
      expected += gradient * gradient;
    }
  }
  const Found found = check();
  EXPECT_NEAR(found.sums.squared_norm, expected, 1e-12 * expected);
  EXPECT_EQ(found.flags.overflow, 0);
}

TEST_F(GradientCheckTest, LargeAndTinyGradientsNeitherOverflowNorVanishInTheNorm) {
  for (const float value : {3e38f, 1e-30f}) {
    test::set_values(slices[1], std::vector<float>(static_cast<std::size_t>(slices[1].size()), value));
    test::set_values(slices[0], std::vector<float>(static_cast<std::size_t>(slices[0].size()), 0));
    test::set_values(slices[2], std::vector<float>(static_cast<std::size_t>(slices[2].size()), 0));
    const double gradient = static_cast<double>(value) / 1024.0 / static_cast<double>(divisors[1]);
    const double expected = 70001.0 * gradient * gradient;
    const Found found = check();
    EXPECT_NEAR(found.sums.squared_norm / expected, 1, 1e-10);
    EXPECT_EQ(found.flags.overflow, 0);
  }
}

TEST_F(GradientCheckTest, OneBadElementAnywhereRaisesThisRanksFlag) {
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    const auto last = static_cast<std::size_t>(slices[slice].size()) - 1;
    for (const std::size_t element : {std::size_t{0}, last / 2, last}) {
      const float before = test::values_of(slices[slice])[element];
      for (const float bad : {infinity, -infinity, nan}) {
        set_element(slice, element, bad);
        const Found found = check();
        EXPECT_EQ(found.flags.overflow, rank + 1)
            << "slice " << slice << " element " << element << " " << bad;
        EXPECT_TRUE(std::isfinite(found.sums.squared_norm));
      }
      set_element(slice, element, before);
      EXPECT_EQ(check().flags.overflow, 0);
    }
  }
}

TEST_F(GradientCheckTest, TheLargestFiniteValueIsNoOverflow) {
  set_element(0, 3, 65504.0f);
  set_element(1, 3, std::numeric_limits<float>::max());
  set_element(2, 3, -3.38953139e38f);
  EXPECT_EQ(check().flags.overflow, 0);
}

TEST_F(GradientCheckTest, GradientsStayAsTheyWereBitForBit) {
  set_element(0, 5, nan);
  std::vector<std::vector<std::byte>> before;
  for (const Tensor& slice : slices) before.push_back(test::bytes_of(slice));
  check();
  for (std::size_t i = 0; i < slices.size(); ++i) EXPECT_EQ(test::bytes_of(slices[i]), before[i]);
}

TEST_F(GradientCheckTest, TheScaleTravelsInBothForms) {
  scale.set(65536.0f * 3);
  const Found found = check();
  EXPECT_EQ(Kokkos::bit_cast<float>(found.flags.scale_bits), 65536.0f * 3);
  EXPECT_EQ(found.flags.scale_complement, ~found.flags.scale_bits);
}

TEST_F(GradientCheckTest, ACheckAfterABadOneIsCleanAgain) {
  const Execution exec;
  const AgreementBuffer agreement(rank, 3);
  const GradientCheck gradient_check(slices, divisors, rank);
  AgreementFlags flags;
  for (const float value : {nan, 1.0f, infinity, 2.0f}) {
    set_element(2, 7, value);
    gradient_check.run(exec, scale.data(), agreement);
    exec.fence();
    test::copy_to_host(agreement.own_flags(), &flags, sizeof(flags));
    EXPECT_EQ(flags.overflow, std::isfinite(value) ? 0 : rank + 1);
  }
}

}  // namespace mylos::gradient_check_test
