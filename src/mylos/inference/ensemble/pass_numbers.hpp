// The numbers of passes with dropout masks, in the memory of the network: the random numbers' step.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "mylos/base/execution.hpp"

namespace mylos {

using PassNumbers = Kokkos::View<std::uint64_t*, Device>;

/// Returns 0 ... `count` - 1.
inline PassNumbers pass_numbers(std::int64_t count) {
  const PassNumbers numbers("passes", static_cast<std::size_t>(count));
  std::vector<std::uint64_t> own(static_cast<std::size_t>(count));
  std::iota(own.begin(), own.end(), std::uint64_t{0});
  Kokkos::deep_copy(numbers, Kokkos::View<const std::uint64_t*, Kokkos::HostSpace>(own.data(), own.size()));
  return numbers;
}

}  // namespace mylos
