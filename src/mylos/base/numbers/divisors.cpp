#include "mylos/base/numbers/divisors.hpp"

#include <fmt/ranges.h>

#include <iterator>

namespace mylos {

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 1; i <= number; ++i) {
    if (number % i == 0) result.push_back(i);
  }
  return result;
}

std::string alternatives_of(const std::vector<std::int64_t>& numbers) {
  const auto last = std::prev(numbers.end());
  if (numbers.size() == 1) return fmt::format("{}", *last);
  return fmt::format("{} or {}", fmt::join(numbers.begin(), last, ", "), *last);
}

}  // namespace mylos
