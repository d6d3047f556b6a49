// gelu_tanh on hosts for 16-bit elements, with the accuracy that they need.
#pragma once

#include <cstdint>

#include "mylos/base/float16.hpp"

namespace mylos {

/// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + cubic x^3). (1 + tanh(u)) / 2 is the logistic function of 2
/// u, which does not lose digits where it is small.
struct GeluTanhTerms {
  static constexpr float slope = 1.5957691216f;  // 2 sqrt(2 / pi)
  static constexpr float cubic = 0.044715f;
  static constexpr float log2_e = 1.4426950409f;
};

namespace host_tile {

// T: half or bfloat16.

/// Computes y = gelu_tanh(x) with a relative error of at most 7e-5 before rounding. x and y may be the same
/// memory.
template <class T>
void gelu_tanh(const T* x, std::int64_t count, T* y);

/// Computes dx = dy gelu_tanh'(x), within 4e-5 of |dy| before rounding. dx may be dy's memory.
template <class T>
void gelu_tanh_backward(const T* x, const T* dy, std::int64_t count, T* dx);
/// As above, and sets `values` to what was written.
template <class T>
void gelu_tanh_backward(const T* x, const T* dy, std::int64_t count, T* dx, float* values);

}  // namespace host_tile
}  // namespace mylos
