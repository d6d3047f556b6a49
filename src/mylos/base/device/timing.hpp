// Timing for benchmarks that are interleaved with other programs or with competing implementations.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace mylos {

/// Returns the milliseconds that work() takes. work() must not return before its work has completed.
template <class Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Returns the median of at least one value.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// Returns the median of `count` runs, after `warm_up` untimed runs.
template <class Work>
double median_milliseconds(int warm_up, int count, const Work& work) {
  for (int i = 0; i < warm_up; ++i) work();
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(milliseconds(work));
  return median(std::move(times));
}

}  // namespace mylos
