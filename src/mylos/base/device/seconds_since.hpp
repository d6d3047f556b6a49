// Wall-clock seconds since a point in time.
#pragma once

#include <chrono>

namespace mylos {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace mylos
