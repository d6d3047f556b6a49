// The transforms of F(2 x 2, 3 x 3) on vectors of channels.
#include <cstdint>
#include <utility>

#if defined(MYLOS_KERNELS_WINOGRAD_TRANSFORMS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_WINOGRAD_TRANSFORMS_INL_HPP
#undef MYLOS_KERNELS_WINOGRAD_TRANSFORMS_INL_HPP
#else
#define MYLOS_KERNELS_WINOGRAD_TRANSFORMS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/convolution/winograd_tiles.hpp"
#include "mylos/kernels/launch/vector_values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

/// B', applied to four points.
struct OfInput {
  static constexpr int from = 4, to = 4;
  template <int i, class V>
  static HWY_INLINE V row(V x0, V x1, V x2, V x3) {
    if constexpr (i == 0) return hn::Sub(x0, x2);
    if constexpr (i == 1) return hn::Add(x1, x2);
    if constexpr (i == 2) return hn::Sub(x2, x1);
    if constexpr (i == 3) return hn::Sub(x1, x3);
  }
};

/// G, applied to three weights.
struct OfWeights {
  static constexpr int from = 3, to = 4;
  template <int i, class V>
  static HWY_INLINE V row(V w0, V w1, V w2) {
    const auto half = hn::Set(hn::DFromV<V>(), 0.5f);
    if constexpr (i == 0) return w0;
    if constexpr (i == 1) return hn::Mul(half, hn::Add(hn::Add(w0, w2), w1));
    if constexpr (i == 2) return hn::Mul(half, hn::Sub(hn::Add(w0, w2), w1));
    if constexpr (i == 3) return w2;
  }
};

/// A', results in two outputs.
struct ToOutput {
  static constexpr int from = 4, to = 2;
  template <int i, class V>
  static HWY_INLINE V row(V s0, V s1, V s2, V s3) {
    if constexpr (i == 0) return hn::Add(s0, hn::Add(s1, s2));
    if constexpr (i == 1) return hn::Sub(hn::Sub(s1, s2), s3);
  }
};

/// A, applied to the gradients of two outputs.
struct OfOutputGradient {
  static constexpr int from = 2, to = 4;
  template <int i, class V>
  static HWY_INLINE V row(V y0, V y1) {
    if constexpr (i == 0) return y0;
    if constexpr (i == 1) return hn::Add(y0, y1);
    if constexpr (i == 2) return hn::Sub(y0, y1);
    if constexpr (i == 3) return hn::Neg(y1);
  }
};

/// G', results in the gradients of three weights.
struct ToWeightGradient {
  static constexpr int from = 4, to = 3;
  template <int i, class V>
  static HWY_INLINE V row(V s0, V s1, V s2, V s3) {
    const auto half = hn::Set(hn::DFromV<V>(), 0.5f);
    if constexpr (i == 0) return hn::MulAdd(half, hn::Add(s1, s2), s0);
    if constexpr (i == 1) return hn::Mul(half, hn::Sub(s1, s2));
    if constexpr (i == 2) return hn::MulAdd(half, hn::Add(s1, s2), s3);
  }
};

template <class Matrix, int j, class From, std::size_t... x>
HWY_INLINE auto along_x(const From& from, int y, std::index_sequence<x...>) {
  return Matrix::template row<j>(from(y, static_cast<int>(x))...);
}

template <class Matrix, int j, class To, std::size_t... i, class... V>
HWY_INLINE void along_y(const To& to, std::index_sequence<i...>, V... value) {
  (to(static_cast<int>(i), j, Matrix::template row<static_cast<int>(i)>(value...)), ...);
}

template <class Matrix, int j, class From, class To, std::size_t... y>
HWY_INLINE void transform_column(const From& from, const To& to, std::index_sequence<y...>) {
  along_y<Matrix, j>(
      to, std::make_index_sequence<Matrix::to>(),
      along_x<Matrix, j>(from, static_cast<int>(y), std::make_index_sequence<Matrix::from>())...);
}

template <class Matrix, class From, class To, std::size_t... j>
HWY_INLINE void transform_columns(const From& from, const To& to, std::index_sequence<j...>) {
  (transform_column<Matrix, static_cast<int>(j)>(from, to, std::make_index_sequence<Matrix::from>()), ...);
}

/// Calls to(i, j, sum over y and x of M[i][y] M[j][x] from(y, x)). Values are read again for each j, so that
/// few are in registers at a time.
template <class Matrix, class From, class To>
HWY_INLINE void transform(const From& from, const To& to) {
  transform_columns<Matrix>(from, to, std::make_index_sequence<Matrix::to>());
}

/// Transforms `count` channels of a window from `first` on. Results are `stride` floats apart, in complete
/// vectors.
HWY_INLINE void transform_window(const winograd::Window<4>& window, std::int64_t first, std::int64_t count,
                                 std::int64_t stride, float* target) {
  for_each_vector(count, [&](auto d, std::int64_t c, auto some) HWY_ATTR {
    transform<OfInput>([&](int y, int x) HWY_ATTR { return load(d, window.point[y][x] + first + c, some); },
                       [&](int i, int j, auto value)
                           HWY_ATTR { hn::StoreU(value, d, target + (4 * i + j) * stride + c); });
  });
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
