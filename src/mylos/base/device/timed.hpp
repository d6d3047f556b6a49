// timed(): accumulates the seconds that a piece of work takes.
#pragma once

#include <utility>

#include "mylos/base/device/seconds_since.hpp"

namespace mylos {

/// Calls `work`, returns its result and adds its seconds to `seconds`, also if it throws.
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
