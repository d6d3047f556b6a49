#include "mylos/kernels/pointwise/activation.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/column_sums.hpp"
#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/launch/row_sums.hpp"
#include "mylos/kernels/launch/store.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/kernels/pointwise/fields/dropout_of_box.hpp"
#include "mylos/kernels/pointwise/tile_gelu.hpp"

namespace mylos {
namespace {

// What each activation does to one element. derivative() takes what the forward pass saved: see
// keeps_output().
struct None {
  static constexpr bool needs_kept = false;
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) { return x; }
  KOKKOS_FORCEINLINE_FUNCTION static float backward(float, float d_out) { return d_out; }
};
struct Relu {
  static constexpr bool needs_kept = true;
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) { return x < 0.0f ? 0.0f : x; }  // NaN stays NaN
  KOKKOS_FORCEINLINE_FUNCTION static float backward(float y, float d_out) { return y <= 0.0f ? 0.0f : d_out; }
};
template <class Functions>
struct GeluBy {
  static constexpr bool needs_kept = true;
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) {
    return x * math::normal<Functions>(x).cumulative;
  }
  KOKKOS_FORCEINLINE_FUNCTION static float backward(float x, float d_out) {
    const math::Normal normal = math::normal<Functions>(x);
    return d_out * (normal.cumulative + x * normal.density);
  }
};
/// Returns 1 / (1 + 2^-x).
template <class Functions>
KOKKOS_FORCEINLINE_FUNCTION float binary_sigmoid(float x) {
  if constexpr (std::is_same_v<Functions, math::Hardware>) {
    return hardware::reciprocal(1.0f + hardware::exp2(-x));
  } else {
    return math::binary_sigmoid(x);
  }
}
template <class Functions>
struct GeluTanhBy : GeluTanhTerms {
  static constexpr bool needs_kept = true;
  KOKKOS_FORCEINLINE_FUNCTION static float logistic(float x, float square) {
    return binary_sigmoid<Functions>(x * (log2_e * slope + log2_e * slope * cubic * square));
  }
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) { return x * logistic(x, x * x); }
  KOKKOS_FORCEINLINE_FUNCTION static float backward(float x, float d_out) {
    const float square = x * x;
    const float s = logistic(x, square);
    // From |x| = 10 on the second term is 0, and its factors may be infinite. It propagates NaN.
    const float changing = x * (s - s * s) * (slope + 3.0f * slope * cubic * square);
    return d_out * (square >= 100.0f ? s : s + changing);
  }
};
using Gelu = GeluBy<math::Portable>;
using GeluTanh = GeluTanhBy<math::Portable>;
struct TanhOfInput {
  static constexpr bool needs_kept = true;
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) { return math::tanh(x); }
  KOKKOS_FORCEINLINE_FUNCTION static float backward(float x, float d_out) {
    const float y = math::tanh(x);
    return d_out * (1.0f - y * y);
  }
};
struct TanhOfOutput {
  static constexpr bool needs_kept = true;
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) { return math::tanh(x); }
  KOKKOS_FORCEINLINE_FUNCTION static float backward(float y, float d_out) { return d_out * (1.0f - y * y); }
};
struct Silu {
  static constexpr bool needs_kept = true;
  KOKKOS_FORCEINLINE_FUNCTION static float value(float x) { return x * math::sigmoid(x); }
  KOKKOS_FORCEINLINE_FUNCTION static float backward(float x, float d_out) {
    const float s = math::sigmoid(x);
    return d_out * (s + x * (s * (1.0f - s)));
  }
};

/// The implementation for elements of T. For 16 bits the device's own functions are accurate enough.
template <class Function, class T>
struct Implementation {
  using type = Function;
};
template <class T>
inline constexpr bool uses_hardware = !runs_on_host && !std::is_same_v<T, float>;
template <class T>
requires uses_hardware<T>
struct Implementation<Gelu, T> {
  using type = GeluBy<math::Hardware>;
};
template <class T>
requires uses_hardware<T>
struct Implementation<GeluTanh, T> {
  using type = GeluTanhBy<math::Hardware>;
};

/// Calls function(TypeTag<Function>{}) with the struct above that implements the activation.
template <class Function>
void dispatch_activation(Activation activation, bool dropout, Function&& function) {
  switch (activation) {
    case Activation::none:
      return function(TypeTag<None>{});
    case Activation::relu:
      return function(TypeTag<Relu>{});
    case Activation::gelu:
      return function(TypeTag<Gelu>{});
    case Activation::gelu_tanh:
      return function(TypeTag<GeluTanh>{});
    case Activation::silu:
      return function(TypeTag<Silu>{});
    case Activation::tanh:
      return dropout ? function(TypeTag<TanhOfInput>{}) : function(TypeTag<TanhOfOutput>{});
  }
}

/// True if a host function processes complete tiles with sufficient accuracy for T.
template <class Function, class T>
inline constexpr bool has_host_tile = (runs_on_host && std::is_same_v<Function, GeluTanh> &&
                                       !std::is_same_v<T, float>);

/// Without dropout a device's kernel needs few registers, so that more of its threads read at the same time.
template <class Function, class T>
void forward_elements(const Execution& exec, const T* in, std::int64_t elements, T* out) {
  for_each_tile(
      exec, "activation", elements, KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        map_tile(in + first, count, out + first,
                 [](T x) { return from_float<T>(Function::value(to_float(x))); });
      });
}

template <class Function, class T>
void forward(const Execution& exec, const ConstTensor& in_tensor, const Tensor& out_tensor,
             const Dropout& dropout) {
  const T* in = in_tensor.as<T>();
  T* out = out_tensor.as<T>();
  if constexpr (!runs_on_host) {
    if (!dropout.active()) return forward_elements<Function>(exec, in, in_tensor.size(), out);
  }
  const std::int64_t columns = in_tensor.columns();
  const DropoutOfBox mask(dropout, columns);
  for_each_tile(
      exec, "activation", in_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        const T* from = in + row * columns + first;
        T* to = out + row * columns + first;
        const bool drops = mask.active();
        if constexpr (has_host_tile<Function, T>) {
          if (!drops) {
            host_tile::gelu_tanh(from, count, to);
            return;
          }
        }
        float buffer[tile_width];
        const auto x = tile_values(from, count, buffer);
        float value[tile_width];
        if (drops) {
          float factor[tile_width];
          mask.factors(row, first, count, factor);
          for_each_in_tile(count, [&](std::int64_t i) { value[i] = Function::value(x[i]) * factor[i]; });
        } else {
          for_each_in_tile(count, [&](std::int64_t i) { value[i] = Function::value(x[i]); });
        }
        write_tile(value, count, to);
      });
}

template <class Function, class T>
void backward(const Execution& exec, const ConstTensor& kept_tensor, const ConstTensor& d_out_tensor,
              const Tensor& d_in_tensor, const Tensor& bias_gradient, bool accumulate,
              const Dropout& dropout) {
  const T* kept = Function::needs_kept ? kept_tensor.as<T>() : d_out_tensor.as<T>();
  const T* d_out = d_out_tensor.as<T>();
  T* d_in = d_in_tensor.as<T>();
  const std::int64_t columns = d_out_tensor.columns();
  const DropoutOfBox mask(dropout, columns);
  // ReLU's output already shows which elements were dropped.
  const bool draws = mask.active() && !std::is_same_v<Function, Relu>;
  const float scale = mask.scale();
  const bool sums = !bias_gradient.empty();  // the sums go down the rows
  const bool changes_nothing = std::is_same_v<Function, None> && !mask.active() && d_in == d_out;
  constexpr std::int64_t prefetch_distance = 6;  // rows
  // Writes the rounded d_in of a tile to memory and to value[].
  const auto tile = KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count, float* value) {
    if (sums) {
      if (Function::needs_kept) prefetch_tile(kept + (row + prefetch_distance) * columns + first, count);
      prefetch_tile(d_out + (row + prefetch_distance) * columns + first, count);
    }
    const std::int64_t at = row * columns + first;
    const bool exact = draws;
    T* to = d_in + at;
    if constexpr (has_host_tile<Function, T>) {
      if (!exact) {
        if (sums) return host_tile::gelu_tanh_backward(kept + at, d_out + at, count, to, value);
        return host_tile::gelu_tanh_backward(kept + at, d_out + at, count, to);
      }
    }
    float kept_buffer[tile_width];
    float gradient_buffer[tile_width];
    const auto k = tile_values(kept + at, count, kept_buffer);
    const auto dy = tile_values(d_out + at, count, gradient_buffer);
    if (exact) {
      float factor[tile_width];
      mask.factors(row, first, count, factor);
      for_each_in_tile(count,
                       [&](std::int64_t i) { value[i] = Function::backward(k[i], dy[i] * factor[i]); });
    } else {
      for_each_in_tile(count, [&](std::int64_t i) { value[i] = Function::backward(k[i], dy[i] * scale); });
    }
    if (!changes_nothing) write_rounded_tile(value, count, to);
  };
  if (bias_gradient.empty()) {
    if (changes_nothing) return;
    for_each_tile(
        exec, "d_activation", d_out_tensor.rows(), columns,
        KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
          float value[tile_width];
          tile(row, first, count, value);
        });
    return;
  }
  const ResultVector gradient(bias_gradient);
  const auto store = KOKKOS_LAMBDA(std::int64_t column, float total) {
    gradient.store(column, total, accumulate);
  };
  if constexpr (runs_on_host) {
    if (changes_nothing) {
      launch::sum_blocks_of_rows(
          exec, "d_activation", d_out_tensor.rows(), columns,
          [=](std::int64_t row, std::int64_t end, std::int64_t first, std::int64_t count, float* partial) {
            host_row::add_rows(d_out + row * columns + first, columns, end - row, count, partial);
          },
          store);
      return;
    }
  }
  sum_columns(exec, "d_activation", d_out_tensor.rows(), columns, tile, store);
}

}  // namespace

bool keeps_output(Activation activation, bool dropout) {
  return activation == Activation::relu || (activation == Activation::tanh && !dropout);
}

void activation_forward(const Execution& exec, Activation activation, const ConstTensor& in,
                        const Tensor& out, const Dropout& dropout) {
  if (activation == Activation::none && !dropout.active() && in.data() == out.data()) return;
  dispatch_activation(activation, dropout.active(), [&](auto function) {
    dispatch(in.type(), [&]<class T>(TypeTag<T>) {
      using Function = typename Implementation<typename decltype(function)::type, T>::type;
      for_countable_rows(dropout, in.rows(), [&](std::int64_t first, std::int64_t rows, const Dropout& own) {
        forward<Function, T>(exec, in.row_range(first, rows), out.row_range(first, rows), own);
      });
    });
  });
}

void activation_backward(const Execution& exec, Activation activation, const ConstTensor& kept,
                         const ConstTensor& d_out, const Tensor& d_in, const Tensor& bias_gradient,
                         bool accumulate, const Dropout& dropout) {
  dispatch_activation(activation, dropout.active(), [&](auto function) {
    dispatch(d_out.type(), [&]<class T>(TypeTag<T>) {
      using Function = typename Implementation<typename decltype(function)::type, T>::type;
      const auto own_rows = [&](std::int64_t first, std::int64_t rows, const Dropout& own) {
        backward<Function, T>(exec, kept.empty() ? kept : kept.row_range(first, rows),
                              d_out.row_range(first, rows), d_in.row_range(first, rows), bias_gradient,
                              accumulate || first > 0, own);
      };
      for_countable_rows(dropout, d_out.rows(), own_rows);
    });
  });
}

}  // namespace mylos
