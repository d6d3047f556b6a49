#include "mylos/inference/float64/float64_linear.hpp"

namespace mylos::float64 {
namespace {

/// `width` outputs of `columns` columns; weight, bias and y begin at the first of them.
template <int columns, int width>
void multiply_tile(const LinearShape& shape, const double* weight, const double* bias, const Columns& x,
                   const Columns& y) {
  double sum[columns][width];
  for (int c = 0; c < columns; ++c)
    for (int k = 0; k < width; ++k) sum[c][k] = bias == nullptr ? 0.0 : bias[k];
  for (std::int64_t i = 0; i < shape.inputs; ++i, weight += shape.outputs) {
    for (int c = 0; c < columns; ++c) {
      const double factor = x.of(c)[i];
#pragma omp simd
      for (int k = 0; k < width; ++k) sum[c][k] += factor * weight[k];
    }
  }
  for (int c = 0; c < columns; ++c)
    for (int k = 0; k < width; ++k) y.of(c)[k] = sum[c][k];
}

template <int width>
void multiply_panel(const LinearShape& shape, const double* weight, const double* bias, const Columns& x,
                    const Columns& y) {
  constexpr int at_a_time = width == 8 ? 6 : 1;
  std::int64_t c = 0;
  const auto from = [&](const Columns& all) { return Columns{all.of(c), all.stride}; };
  for (; c + at_a_time <= shape.columns; c += at_a_time)
    multiply_tile<at_a_time, width>(shape, weight, bias, from(x), from(y));
  for (; c < shape.columns; ++c) multiply_tile<1, width>(shape, weight, bias, from(x), from(y));
}

}  // namespace

void multiply(const LinearShape& shape, const double* weight, const double* bias, const Columns& x,
              const Columns& y) {
  std::int64_t o = 0;
  const auto bias_from = [&] { return bias == nullptr ? nullptr : bias + o; };
  const auto y_from = [&] { return Columns{y.data + o, y.stride}; };
  if (shape.columns < 4) {
    for (; o + 32 <= shape.outputs; o += 32) multiply_panel<32>(shape, weight + o, bias_from(), x, y_from());
  }
  for (; o + 8 <= shape.outputs; o += 8) multiply_panel<8>(shape, weight + o, bias_from(), x, y_from());
  for (; o < shape.outputs; ++o) multiply_panel<1>(shape, weight + o, bias_from(), x, y_from());
}

}  // namespace mylos::float64
