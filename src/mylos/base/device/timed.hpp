// timed(): the seconds that a piece of work takes, added up.
#pragma once

#include <utility>

#include "mylos/base/device/seconds_since.hpp"

namespace mylos {

/// Returns what `work` returns, and adds the seconds that it takes to `seconds`, also where it throws.
template <class Work>
decltype(auto) timed(double& seconds, Work&& work) {
  struct Meter {
    double& seconds;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    ~Meter() { seconds += seconds_since(start); }
  };
  const Meter meter{seconds};
  return std::forward<Work>(work)();
}

}  // namespace mylos
