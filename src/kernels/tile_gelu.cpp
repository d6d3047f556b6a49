#include "tile_gelu.hpp"

#include "bfloat16_words.hpp"
#include "gelu_slopes.hpp"
#include "lanes_exp2.hpp"

namespace mylos::host_tile {
namespace {

/// 1 / (1 + 2^x), within a relative error of 7e-5 where that is not below 2^-126.
#if defined(__AVX512DQ__)
inline void logistic(const lanes::Floats& x, lanes::Floats& result) {
  constexpr int down = 0x09;  // x - floor(x), without an exception
  const lanes::Floats f(_mm512_maskz_reduce_ps(lanes::all, __m512(x), down));
  // 2^f for 0 <= f < 1 by a polynomial (relative error 2.6e-6), made for this file.
  lanes::Floats series = 1.3534128666e-02f * f + 5.2011486143e-02f;
  series = series * f + 2.4144278467e-01f;
  series = series * f + 6.9300383329e-01f;
  series = series * f + 1.0000026226f;
  const lanes::Floats power(_mm512_maskz_scalef_ps(lanes::all, __m512(series), __m512(x)));
  result = lanes::Floats(_mm512_maskz_rcp14_ps(lanes::all, __m512(power + 1.0f)));
}
#else
inline void logistic(const lanes::Floats& x, lanes::Floats& result) {
  lanes::Floats power = x > 126.0f ? lanes::Floats{} + 126.0f : x;
  lanes::exp2(power);
  result = x > 126.0f ? lanes::Floats{} : 1.0f / (power + 1.0f);
}
#endif

inline void value(const lanes::Floats& x, lanes::Floats& y) {
  constexpr float linear = -GeluTanhTerms::log2_e * GeluTanhTerms::slope;
  const lanes::Floats square = x * x;
  lanes::Floats s;
  logistic(x * (linear * GeluTanhTerms::cubic * square + linear), s);
  y = x * s;
}

/// each(i, valid) for every sixteen elements.
template <class Each>
inline void for_each_vector_of(std::int64_t count, const Each& each) {
  std::int64_t i = 0;
  for (; i + lanes::count <= count; i += lanes::count) each(i, lanes::count);
  if (i < count) each(i, count - i);
}

template <class T>
void forward(const T* x, std::int64_t count, T* y) {
  for_each_vector_of(count, [=](std::int64_t i, std::int64_t valid) {
    lanes::Floats in, out;
    FloatWords::load(x + i, valid, in);
    value(in, out);
    store_some_rounded<Bfloat16Words>(out, valid, y + i);
  });
}

template <bool wants_values, class T>
void backward(const T* x, const T* dy, std::int64_t count, T* dx, [[maybe_unused]] float* values) {
  static const GeluSlopes slopes;
  for_each_vector_of(count, [=](std::int64_t i, std::int64_t valid) {
    lanes::Floats in, d_out, slope;
    FloatWords::load(x + i, valid, in);
    FloatWords::load(dy + i, valid, d_out);
    slopes.find(in, slope);
    T rounded[lanes::count];
    store_rounded<Bfloat16Words>(d_out * slope, rounded);
    std::memcpy(dx + i, rounded, static_cast<std::size_t>(valid) * sizeof(T));
    if constexpr (wants_values) {
      lanes::load(rounded, d_out);
      std::memcpy(values + i, &d_out, static_cast<std::size_t>(valid) * sizeof(float));
    }
  });
}

}  // namespace

void gelu_tanh(const half* x, std::int64_t count, half* y) {
  forward(x, count, y);
}
void gelu_tanh(const bfloat16* x, std::int64_t count, bfloat16* y) {
  forward(x, count, y);
}
void gelu_tanh_backward(const half* x, const half* dy, std::int64_t count, half* dx) {
  backward<false>(x, dy, count, dx, nullptr);
}
void gelu_tanh_backward(const bfloat16* x, const bfloat16* dy, std::int64_t count, bfloat16* dx) {
  backward<false>(x, dy, count, dx, nullptr);
}
void gelu_tanh_backward(const half* x, const half* dy, std::int64_t count, half* dx, float* values) {
  backward<true>(x, dy, count, dx, values);
}
void gelu_tanh_backward(const bfloat16* x, const bfloat16* dy, std::int64_t count, bfloat16* dx,
                        float* values) {
  backward<true>(x, dy, count, dx, values);
}

}  // namespace mylos::host_tile
