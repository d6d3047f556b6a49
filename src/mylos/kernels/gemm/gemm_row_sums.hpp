// The sums of op(A)'s rows (GemmEngine::sums_rows) for a library that does not compute them, or that does not
// add them to the old sums.
#pragma once

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/launch/long_column_sums.hpp"

namespace mylos {

namespace launch {

template <class Input, class Output>
void sum_rows_of_a(const Execution& execution, const GemmProblem& problem, const Input* a, Output* row_sums,
                   void* workspace) {
  const bool accumulate = problem.accumulate;
  const auto store = KOKKOS_LAMBDA(std::int64_t row, float sum) {
    row_sums[row] = from_float<Output>(accumulate ? to_float(row_sums[row]) + sum : sum);
  };
  long_column_sums(execution, "gemm_row_sums", a, problem.k, problem.m, store, workspace);
}

template <class Output>
void add_row_sums(const Execution& execution, const GemmProblem& problem, const Output* sums,
                  Output* row_sums) {
  for_each_element(
      execution, "add_row_sums", problem.m, KOKKOS_LAMBDA(std::int64_t i) {
        row_sums[i] = from_float<Output>(to_float(row_sums[i]) + to_float(sums[i]));
      });
}

}  // namespace launch

/// Sums the rows of A, which is stored [k, m]; adds to the old sums if C is added to. `workspace`:
/// long_column_sums_workspace bytes.
inline void sum_rows_of_a(const Execution& execution, const GemmProblem& problem, const void* a,
                          void* row_sums, void* workspace) {
  dispatch_pair(problem.a, problem.c, [&]<class Input, class Output>(TypeTag<Input>, TypeTag<Output>) {
    launch::sum_rows_of_a(execution, problem, static_cast<const Input*>(a), static_cast<Output*>(row_sums),
                          workspace);
  });
}

/// Adds row_sums += sums, both [m] of C's type.
inline void add_row_sums(const Execution& execution, const GemmProblem& problem, const void* sums,
                         void* row_sums) {
  dispatch(problem.c, [&]<class Output>(TypeTag<Output>) {
    launch::add_row_sums(execution, problem, static_cast<const Output*>(sums),
                         static_cast<Output*>(row_sums));
  });
}

}  // namespace mylos
