// Division by a multiplication and a shift has the quotients of the operator.
#include "mylos/kernels/launch/divisor.hpp"

#include <gtest/gtest.h>

#include <random>

namespace mylos::divisor_test {

void expect_quotients(std::int64_t divisor, std::mt19937_64& random) {
  const Divisor by(divisor);
  std::uniform_int_distribution<std::int64_t> any(0, Divisor::max);
  const std::int64_t max_multiple = Divisor::max / divisor * divisor;
  for (std::int64_t dividend : {std::int64_t{0}, std::int64_t{1}, divisor - 1, divisor, divisor + 1,
                                max_multiple - 1, max_multiple, Divisor::max, any(random), any(random)}) {
    dividend = std::min(dividend, Divisor::max);
    ASSERT_EQ(by.quotient(dividend), dividend / divisor) << dividend << " / " << divisor;
  }
}

TEST(Divisor, GivesTheQuotientsOfTheOperator) {
  std::mt19937_64 random(1);
  for (std::int64_t divisor = 1; divisor <= 5000; ++divisor) expect_quotients(divisor, random);
  for (int bits = 12; bits < 31; ++bits) {
    for (const int beside : {-1, 0, 1}) expect_quotients((std::int64_t{1} << bits) + beside, random);
  }
  std::uniform_int_distribution<std::int64_t> any(1, Divisor::max);
  for (int i = 0; i < 100000; ++i) expect_quotients(any(random), random);
  expect_quotients(Divisor::max, random);
}

}  // namespace mylos::divisor_test
