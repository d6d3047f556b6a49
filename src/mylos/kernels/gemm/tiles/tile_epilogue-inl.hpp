// The epilogue of a register tile of C on its float sums: bias, the old C, ReLU and one rounding.
#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

#if defined(MYLOS_KERNELS_TILE_EPILOGUE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_TILE_EPILOGUE_INL_HPP
#undef MYLOS_KERNELS_TILE_EPILOGUE_INL_HPP
#else
#define MYLOS_KERNELS_TILE_EPILOGUE_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_gemm-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

/// Loads the bias of `width` columns from `column` on, with zeros beyond C.
inline void load_bias(const GemmProblem& problem, const GemmOperands& operands, std::int64_t column,
                      std::int64_t width, float* values) {
  dispatch(problem.bias_type, [&]<class Bias>(TypeTag<Bias>) HWY_ATTR {
    const auto* bias = static_cast<const Bias*>(operands.bias) + column;
    for (std::int64_t j = 0; j < width; j += lanes())
      hn::StoreU(load_at_most(FloatTag(), bias + j, problem.n - column - j), FloatTag(), values + j);
  });
}

/// The end of an epilogue: adds the old values of C, applies ReLU, and rounds.
template <class Output, class Lanes>
HWY_INLINE void finish_sums(Floats value, Output* to, bool accumulate, bool relu, Lanes some) {
  const FloatTag d;
  if (accumulate) value = hn::Add(value, load(d, to, some));
  if (relu) value = hn::IfThenZeroElse(hn::Lt(value, hn::Zero(d)), value);  // keeps NaN
  store(d, value, to, some);
}

template <class Output>
struct Epilogue {
  Output* c;
  std::int64_t c_stride;
  std::int64_t rows;     // the rows of the tile that exist in C
  std::int64_t columns;  // likewise
  const float* bias;     // may be null
  bool accumulate;
  bool relu;
  Sums sums;  // of the previous chunks of k
  bool last;  // this is the last chunk

  template <int vectors, std::size_t... i, class... Sum>
  HWY_INLINE void take(std::index_sequence<i...> tile, Sum... sum) const {
    if (!last) return sums.take<vectors>(tile, sum...);
    const FloatTag d;
    if (sums.add) ((sum = hn::Add(sum, hn::LoadU(d, sums.at<vectors>(i)))), ...);
    if (bias != nullptr) ((sum = hn::Add(sum, hn::LoadU(d, bias + column_of<vectors>(i)))), ...);
    constexpr auto tile_rows = static_cast<std::int64_t>(sizeof...(Sum) / vectors);
    if (rows >= tile_rows && columns >= vectors * lanes()) {
      (apply(sum, c + row_of<vectors>(i) * c_stride + column_of<vectors>(i), AllLanes{}), ...);
    } else {
      HWY_ALIGN float whole[register_rows * vectors * hn::MaxLanes(d)];
      const std::int64_t stride = vectors * lanes();
      (hn::StoreU(sum, d, whole + row_of<vectors>(i) * stride + column_of<vectors>(i)), ...);
      apply_to_edge(whole, stride);
    }
  }

 private:
  template <class Lanes>
  HWY_INLINE void apply(Floats value, Output* to, Lanes some) const {
    finish_sums(value, to, accumulate, relu, some);
  }
  HWY_INLINE void apply_to_edge(const float* whole, std::int64_t stride) const {
    for (std::int64_t row = 0; row < std::min(rows, register_rows); ++row) {
      for (std::int64_t column = 0; column < std::min(columns, stride); column += lanes()) {
        const Floats value = hn::LoadU(FloatTag(), whole + row * stride + column);
        Output* const to = c + row * c_stride + column;
        if (columns - column >= lanes()) {
          apply(value, to, AllLanes{});
        } else {
          apply(value, to, SomeLanes{static_cast<std::size_t>(columns - column)});
        }
      }
    }
  }
};

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
