// Sums that do not depend on their order, compared with sums in integers and in extended precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"

namespace mylos {
namespace {

ExactSum sum_of(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double term : terms) sum.add(term);
  return sum;
}

std::vector<double> draw(std::size_t count, double smallest_exponent, double max_exponent) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(smallest_exponent, max_exponent);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::vector<double> terms;
  for (std::size_t i = 0; i < count; ++i)
    terms.push_back(std::ldexp(mantissa(random), static_cast<int>(exponent(random))));
  return terms;
}

TEST(ExactSum, OneTermComesBackAsItIs) {
  for (const double term : {0.0, 1.0, 65535.0, 65536.0, 0.1, 1e-70, 3.0e76, std::ldexp(1.0, -298),
                            std::ldexp(1.75, 300), -2.5, -1e-30}) {
    EXPECT_EQ(sum_of({term}).value(), term);
  }
}

TEST(ExactSum, NothingIsLostBesideAMuchLargerTerm) {
  ExactSum sum = sum_of({1e60, 1.0, 1e-40});
  sum.add(-1e60);
  EXPECT_EQ(sum.value(), 1.0);  // plus 1e-40, which a double cannot represent next to 1
  sum.add(-1.0);
  EXPECT_EQ(sum.value(), 1e-40);
}

TEST(ExactSum, IsTheSumOfIntegersWithoutRounding) {
  const std::vector<double> terms = draw(20000, 0, 40);
  std::vector<double> whole;
  __int128 expected = 0;
  for (const double term : terms) {
    whole.push_back(std::floor(term));
    expected += static_cast<__int128>(whole.back());
  }
  EXPECT_EQ(static_cast<__int128>(sum_of(whole).value()), expected);
}

TEST(ExactSum, HasTheSameBitsInEveryOrderAndEveryShare) {
  std::vector<double> terms = draw(5000, -290, 250);
  const double expected = sum_of(terms).value();
  std::mt19937_64 random(9);
  for (const std::size_t parts : {1u, 2u, 7u, 64u}) {
    std::shuffle(terms.begin(), terms.end(), random);
    ExactSum total;
    for (std::size_t part = 0; part < parts; ++part) {
      ExactSum own;
      for (std::size_t i = part; i < terms.size(); i += parts) own.add(terms[i]);
      if (part % 2 == 0) own.carry();
      total.add(own);
    }
    EXPECT_EQ(total.value(), expected) << parts;
  }
}

TEST(ExactSum, ItsValueIsWithinRoundingOfTheSumInExtendedPrecision) {
  const std::vector<double> terms = draw(5000, -20, 20);
  long double expected = 0;
  for (const double term : terms) expected += static_cast<long double>(term);
  const double error =
      std::fabs(static_cast<double>(static_cast<long double>(sum_of(terms).value()) - expected));
  EXPECT_LE(error, 4 * std::numeric_limits<double>::epsilon() * static_cast<double>(expected));
}

TEST(ExactSum, BitsBelowTheLowestDigitAreCutOff) {
  EXPECT_EQ(sum_of({std::ldexp(1.0, -400)}).value(), 0.0);
  EXPECT_EQ(sum_of({std::ldexp(1.0, -304) + std::ldexp(1.0, -310)}).value(), std::ldexp(1.0, -304));
}

TEST(ExactSum, CarriedDigitsOfEqualSumsAreEqual) {
  const std::vector<double> terms = draw(3000, -60, 60);
  ExactSum forth = sum_of(terms);
  ExactSum back = sum_of({terms.rbegin(), terms.rend()});
  forth.carry();
  back.carry();
  for (int i = 0; i < ExactSum::digit_count; ++i) {
    EXPECT_EQ(forth.digits[i], back.digits[i]);
    EXPECT_GE(forth.digits[i], 0);
    EXPECT_LT(forth.digits[i], 65536);
  }
}

}  // namespace
}  // namespace mylos
