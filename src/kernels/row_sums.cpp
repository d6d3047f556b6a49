#include "row_sums.hpp"

#include "float_words.hpp"
#include "mylos/kernels/tile_values.hpp"

namespace mylos::host_row {
namespace {

/// Running sums that do not wait for each other.
constexpr int sums_at_once = 4;

template <int distance>
inline void add_lanes(lanes::Floats& values) {
  lanes::Integers from;
  for (int lane = 0; lane < lanes::count; ++lane) from[lane] = (lane + distance) % lanes::count;
  values += __builtin_shuffle(values, from);
}

/// By reference: without AVX-512 compilers pass 64-byte vectors by value in ways that differ.
inline float sum_of_lanes(const lanes::Floats& lanes) {
  lanes::Floats values = lanes;
  add_lanes<8>(values);
  add_lanes<4>(values);
  add_lanes<2>(values);
  add_lanes<1>(values);
  return values[0];
}

/// Adds term(first_column, valid, sums[i]) over all columns; the term must leave lanes from `valid` on alone
/// or add zero to them.
template <class Sums, class Term>
inline void add_terms(std::int64_t columns, Sums (&sums)[sums_at_once], const Term& term) {
  constexpr std::int64_t step = sums_at_once * lanes::count;
  std::int64_t c = 0;
  for (; c + step <= columns; c += step) {
#pragma GCC unroll 4
    for (int i = 0; i < sums_at_once; ++i) term(c + i * lanes::count, lanes::count, sums[i]);
  }
  for (; c < columns; c += lanes::count) term(c, std::min<std::int64_t>(lanes::count, columns - c), sums[0]);
}

inline float total(const lanes::Floats (&sums)[sums_at_once]) {
  return sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

}  // namespace

template <class T>
float sum(const T* x, std::int64_t columns) {
  lanes::Floats sums[sums_at_once] = {};
  add_terms(columns, sums, [=](std::int64_t c, std::int64_t valid, lanes::Floats& s) {
    lanes::Floats value;
    FloatWords::load(x + c, valid, value);
    s += value;
  });
  return total(sums);
}

template <class T>
float sum_of_squares(const T* x, float mean, std::int64_t columns) {
  lanes::Floats sums[sums_at_once] = {};
  add_terms(columns, sums, [=](std::int64_t c, std::int64_t valid, lanes::Floats& s) {
    lanes::Floats value;
    FloatWords::load(x + c, valid, value);
    value -= mean;
    if (valid < lanes::count) lanes::keep(value, 0, static_cast<int>(valid), 0.0f);
    s += value * value;
  });
  return total(sums);
}

template <class T, class W>
GradientSums gradient_sums(const T* x, const T* dy, const W* weight, float mean, float rstd,
                           std::int64_t columns) {
  struct Both {
    lanes::Floats gradient = {};
    lanes::Floats normalized = {};
  };
  Both sums[sums_at_once];
  add_terms(columns, sums, [=](std::int64_t c, std::int64_t valid, Both& s) {
    lanes::Floats value, d, factor;
    FloatWords::load(x + c, valid, value);
    FloatWords::load(dy + c, valid, d);
    FloatWords::load(weight + c, valid, factor);
    d *= factor;
    s.gradient += d;
    s.normalized += d * ((value - mean) * rstd);
  });
  lanes::Floats gradient[sums_at_once];
  lanes::Floats normalized[sums_at_once];
  for (int i = 0; i < sums_at_once; ++i) {
    gradient[i] = sums[i].gradient;
    normalized[i] = sums[i].normalized;
  }
  return {total(gradient), total(normalized)};
}

template <class T>
void add_rows(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums) {
  constexpr int vectors = 8;
  constexpr std::int64_t rows_ahead = 8;
  std::int64_t c = 0;
  for (; c + vectors * lanes::count <= columns; c += vectors * lanes::count) {
    lanes::Floats sum[vectors];
    for (int v = 0; v < vectors; ++v) lanes::load(sums + c + v * lanes::count, sum[v]);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* from = x + row * stride + c;
      fetch_tile(from + rows_ahead * stride, vectors * lanes::count);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        lanes::Floats value;
        lanes::load(from + v * lanes::count, value);
        sum[v] += value;
      }
    }
    for (int v = 0; v < vectors; ++v) lanes::store(sum[v], sums + c + v * lanes::count);
  }
  for (std::int64_t row = 0; row < rows; ++row)
    simd_for(c, columns, [=](std::int64_t i) { sums[i] += to_float(x[row * stride + i]); });
}

template void add_rows(const float*, std::int64_t, std::int64_t, std::int64_t, float*);
template void add_rows(const half*, std::int64_t, std::int64_t, std::int64_t, float*);
template void add_rows(const bfloat16*, std::int64_t, std::int64_t, std::int64_t, float*);
template float sum(const float*, std::int64_t);
template float sum(const half*, std::int64_t);
template float sum(const bfloat16*, std::int64_t);
template float sum_of_squares(const float*, float, std::int64_t);
template float sum_of_squares(const half*, float, std::int64_t);
template float sum_of_squares(const bfloat16*, float, std::int64_t);
template GradientSums gradient_sums(const float*, const float*, const float*, float, float, std::int64_t);
template GradientSums gradient_sums(const half*, const half*, const float*, float, float, std::int64_t);
template GradientSums gradient_sums(const bfloat16*, const bfloat16*, const float*, float, float,
                                    std::int64_t);
template GradientSums gradient_sums(const float*, const float*, const half*, float, float, std::int64_t);
template GradientSums gradient_sums(const half*, const half*, const half*, float, float, std::int64_t);
template GradientSums gradient_sums(const bfloat16*, const bfloat16*, const half*, float, float,
                                    std::int64_t);
template GradientSums gradient_sums(const float*, const float*, const bfloat16*, float, float, std::int64_t);
template GradientSums gradient_sums(const half*, const half*, const bfloat16*, float, float, std::int64_t);
template GradientSums gradient_sums(const bfloat16*, const bfloat16*, const bfloat16*, float, float,
                                    std::int64_t);

}  // namespace mylos::host_row
