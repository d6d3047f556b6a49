// Divisors of a number, for messages that propose one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos {

/// Returns the divisors of a number >= 1, in ascending order.
[[nodiscard]] std::vector<std::int64_t> divisors_of(std::int64_t number);

/// Returns "1, 2 or 4". There is at least one number.
[[nodiscard]] std::string alternatives_of(const std::vector<std::int64_t>& numbers);

}  // namespace mylos
