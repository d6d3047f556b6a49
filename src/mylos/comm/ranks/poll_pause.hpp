// Pauses between two polls of an operation that other ranks have to complete.
//
// Ranks and other programs may share a core. A thread that polls without a pause takes the core from the
// threads it waits for; a thread that sleeps is scheduled again at once. Short operations complete before the
// first pause.
#pragma once

#include <algorithm>
#include <chrono>

namespace mylos {

/// Returns the pause after `vain` of polling without progress: none in the first millisecond, then 1/32 of
/// that time, at most 1 ms.
inline std::chrono::microseconds pause_after(std::chrono::steady_clock::duration vain) {
  constexpr std::chrono::microseconds without_pause{1000};
  constexpr std::chrono::microseconds longest{1000};
  constexpr int share = 32;
  if (vain < without_pause) return {};
  return std::min(std::chrono::duration_cast<std::chrono::microseconds>(vain) / share, longest);
}

}  // namespace mylos
