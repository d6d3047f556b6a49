// gelu_tanh on hosts for elements of 16 bits: of as many digits as they need.
#pragma once

#include <cstdint>

#include "mylos/base/float16.hpp"

namespace mylos {

/// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + cubic x^3). (1 + tanh(u)) / 2 is the logistic function of
/// 2 u, which loses no digits where it is small.
struct GeluTanhTerms {
  static constexpr float slope = 1.5957691216f;  // 2 sqrt(2 / pi)
  static constexpr float cubic = 0.044715f;
  static constexpr float log2_e = 1.4426950409f;
};

namespace host_tile {

/// y = gelu_tanh(x), within a relative error of 7e-5 before it is rounded. x and y may be the same memory.
void gelu_tanh(const half* x, std::int64_t count, half* y);
void gelu_tanh(const bfloat16* x, std::int64_t count, bfloat16* y);

/// dx = dy gelu_tanh'(x), within 4e-5 of |dy| before it is rounded; `values` become what was written. dx may
/// be dy's memory.
void gelu_tanh_backward(const half* x, const half* dy, std::int64_t count, half* dx);
void gelu_tanh_backward(const bfloat16* x, const bfloat16* dy, std::int64_t count, bfloat16* dx);
void gelu_tanh_backward(const half* x, const half* dy, std::int64_t count, half* dx, float* values);
void gelu_tanh_backward(const bfloat16* x, const bfloat16* dy, std::int64_t count, bfloat16* dx,
                        float* values);

}  // namespace host_tile
}  // namespace mylos
