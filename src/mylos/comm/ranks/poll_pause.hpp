// How long somebody sleeps between two looks at an operation that others have to bring to its end.
//
// A core that looks on and on is taken from those who are waited for, where ranks, or other programs, share
// it; and the scheduler lets one that slept begin at once. What ends soon is not slept through.
#pragma once

#include <algorithm>
#include <chrono>

namespace mylos {

/// After looks of so long a time in vain: nothing in the first millisecond, then a thirty-second of that
/// time.
inline std::chrono::microseconds pause_after(std::chrono::steady_clock::duration vain) {
  constexpr std::chrono::microseconds without_pause{1000};
  constexpr std::chrono::microseconds longest{1000};
  constexpr int share = 32;
  if (vain < without_pause) return {};
  return std::min(std::chrono::duration_cast<std::chrono::microseconds>(vain) / share, longest);
}

}  // namespace mylos
