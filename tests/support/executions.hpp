// Execution instances with other numbers of threads than the whole program's.
#pragma once

#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/target.hpp"
#include "mylos/base/execution.hpp"

namespace mylos::test {

/// Of 1, 2 ... threads, below the program's own number. On devices, where threads cannot be parted, one more
/// instance; so too where host threads stand for a device's, of which its largest team needs all.
inline std::vector<Execution> narrower_executions() {
  const Execution whole;
  if constexpr (!memory_is_host || emulates_device) {
    return Kokkos::Experimental::partition_space(whole, std::vector<int>{1});
  }
  std::vector<Execution> result;
  for (int threads = 1; threads < whole.concurrency(); ++threads) {
    result.push_back(Kokkos::Experimental::partition_space(whole, threads, whole.concurrency() - threads)[0]);
  }
  return result;
}

}  // namespace mylos::test
