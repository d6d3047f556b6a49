// GEMMs of one row by a packed B, as a call of a network for one sample needs them: no division into tasks,
// and A is read in place.
//
// One row of one panel has too few sums to hide the latency of multiply-add instructions. Therefore several
// panels, at most three, are multiplied together. The order of each sum is that of the tiles, and so are the
// bits.
#include <algorithm>

#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/gemm/tiles/gemm_tiling.hpp"

#if defined(MYLOS_KERNELS_TILE_ROW_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_TILE_ROW_INL_HPP
#undef MYLOS_KERNELS_TILE_ROW_INL_HPP
#else
#define MYLOS_KERNELS_TILE_ROW_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_epilogue-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

/// One row of C.
template <class Input, class Output>
class TiledRow {
 public:
  using Words = WordsOf<Input>;
  using Word = typename Words::Word;

  /// Requires multiplies_one_row() of the problem, and a packed B.
  TiledRow(const GemmProblem& problem, const GemmOperands& operands, const TileKernel& kernel)
      : problem_(problem),
        operands_(operands),
        steps_(problem.k / Words::per_word),
        panel_stride_(stride_of_panels(steps_, kernel)) {}

  void compute() const {
    const std::int64_t width = register_vectors * lanes();
    std::int64_t column = 0;
    for (; column + 2 * width < problem_.n; column += 3 * width) multiply<3>(column);
    if (column + width < problem_.n) {
      multiply<2>(column);
    } else if (column < problem_.n) {
      multiply<1>(column);
    }
  }

 private:
  template <std::int64_t panels, class... Sum>
  HWY_INLINE void multiply(std::int64_t column, Sum... sum) const {
    if constexpr (sizeof...(Sum) < panels * register_vectors) {
      multiply<panels>(column, sum..., hn::Zero(FloatTag()));
    } else {
      multiply_panels(column, std::index_sequence_for<Sum...>(), sum...);
    }
  }

  template <std::size_t... i, class... Sum>
  HWY_INLINE void multiply_panels(std::int64_t column, std::index_sequence<i...> all, Sum... sum) const {
    const typename Words::Tag d;
    const std::int64_t width = register_vectors * lanes();
    const ByRows<Word> a{static_cast<const Word*>(operands_.a), 0};
    const Word* b = static_cast<const Word*>(operands_.packed_b) + column / width * panel_stride_;
    for (std::int64_t step = 0; step < steps_; ++step, b += width) {
      const Word word = a.at(0, step);
      ((sum = Words::multiply_add(word, hn::LoadU(d, b + panel_of(i) * panel_stride_ + vector_of(i)), sum)),
       ...);
    }
    finish(column, all, sum...);
  }
  static HWY_INLINE std::int64_t panel_of(std::size_t i) {
    return static_cast<std::int64_t>(i) / register_vectors;
  }
  static HWY_INLINE std::int64_t vector_of(std::size_t i) {
    return static_cast<std::int64_t>(i) % register_vectors * lanes();
  }

  /// Writes the sums of the columns from `column` on, as far as C has them.
  template <std::size_t... i, class... Sum>
  HWY_INLINE void finish(std::int64_t column, std::index_sequence<i...>, Sum... sum) const {
    const FloatTag d;
    const std::int64_t columns = problem_.n - column;
    Output* const to = static_cast<Output*>(operands_.c) + column;
    const auto at = [](std::size_t vector) HWY_ATTR { return static_cast<std::int64_t>(vector) * lanes(); };
    if (problem_.bias) {
      HWY_ALIGN float padded[sizeof...(Sum) * hn::MaxLanes(d)];
      const float* const bias = bias_of(column, static_cast<std::int64_t>(sizeof...(Sum)) * lanes(), padded);
      ((sum = hn::Add(sum, hn::LoadU(d, bias + at(i)))), ...);
    }
    if (columns >= static_cast<std::int64_t>(sizeof...(Sum)) * lanes()) {
      (finish_sums(sum, to + at(i), problem_.accumulate, problem_.relu, AllLanes{}), ...);
    } else {
      (finish_at_edge(sum, to + at(i), columns - at(i)), ...);
    }
  }
  void finish_at_edge(Floats sum, Output* to, std::int64_t columns) const {
    if (columns >= lanes()) {
      finish_sums(sum, to, problem_.accumulate, problem_.relu, AllLanes{});
    } else if (columns > 0) {
      const SomeLanes some{static_cast<std::size_t>(columns)};
      finish_sums(sum, to, problem_.accumulate, problem_.relu, some);
    }
  }
  /// Returns `width` numbers: the bias where it lies, or as floats and with zeros in `padded`.
  const float* bias_of(std::int64_t column, std::int64_t width, float* padded) const {
    const std::int64_t columns = problem_.n - column;
    if (problem_.bias_type == DType::fp32 && columns >= width)
      return static_cast<const float*>(operands_.bias) + column;
    load_bias(problem_, operands_, column, width, padded);
    return padded;
  }

  const GemmProblem& problem_;
  const GemmOperands& operands_;
  std::int64_t steps_;
  std::int64_t panel_stride_;
};

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
