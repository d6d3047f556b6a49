// The epilogue of a GEMM whose sums a library has computed: bias, the old C, ReLU, and one rounding.
#pragma once

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

/// Writes c = round(relu(sums + bias + c)) with the terms that `problem` requests. `sums` may be c itself if
/// the library has already applied everything except ReLU and `problem` requests nothing else.
template <class Sum, class Output, class Bias>
void apply_epilogue(const Execution& execution, const GemmProblem& problem, const Sum* sums, const Bias* bias,
                    Output* c) {
  const std::int64_t columns = problem.n;
  const bool add_bias = problem.bias;
  const bool accumulate = problem.accumulate;
  const bool relu = problem.relu;
  for_each_tile(
      execution, "gemm_epilogue", problem.m, columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        for_each_in_tile(count, [&](std::int64_t column) {
          const std::int64_t i = row * columns + first + column;
          float value = to_float(sums[i]);
          if (add_bias) value += to_float(bias[first + column]);
          if (accumulate) value += to_float(c[i]);
          if (relu) value = value < 0.0f ? 0.0f : value;  // keeps NaN for the check of gradients
          c[i] = from_float<Output>(value);
        });
      });
}

/// Sets every row of C to the bias, which has C's type, for a library that then adds the product and rounds
/// once.
template <class Output>
void fill_with_bias(const Execution& execution, const GemmProblem& problem, const Output* bias, Output* c) {
  const std::int64_t columns = problem.n;
  for_each_tile(
      execution, "gemm_bias", problem.m, columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        Output* const to = c + row * columns + first;
        for_each_in_tile(count, [&](std::int64_t i) { to[i] = bias[first + i]; });
      });
}

inline void fill_with_bias(const Execution& execution, const GemmProblem& problem, const void* bias,
                           void* c) {
  dispatch(problem.c, [&]<class Output>(TypeTag<Output>) {
    fill_with_bias(execution, problem, static_cast<const Output*>(bias), static_cast<Output*>(c));
  });
}

/// Applies C = relu(C) alone. The libraries' ReLU is not used because it turns NaN into zero.
inline void apply_relu(const Execution& execution, const GemmProblem& problem, void* c) {
  GemmProblem only = problem;
  only.bias = only.accumulate = false;
  dispatch(problem.c, [&]<class Output>(TypeTag<Output>) {
    auto* output = static_cast<Output*>(c);
    apply_epilogue(execution, only, output, static_cast<const float*>(nullptr), output);
  });
}

}  // namespace mylos
