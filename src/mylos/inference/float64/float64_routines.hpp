// The routines of SourceCalls in double, of a block of columns: what C and Fortran have as text
// (interchange/source/routines), as functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "mylos/inference/float64/float64_linear.hpp"
#include "mylos/inference/model.hpp"

namespace mylos::float64 {

/// The arguments of a call, by their kinds, each in the order of the call.
struct Arguments {
  std::int64_t columns = 0;
  Units units =
      Units::data;  // network: the routines of scaling and of outputs leave their values as they are
  std::array<std::int64_t, 2> sizes{};
  double number = 0;
  std::array<const double*, 3> constants{};
  std::array<Columns, 3> rows{};
};

using Routine = void (*)(const Arguments& arguments);

/// Returns the routine of this name; null if there is none.
[[nodiscard]] Routine find_routine(std::string_view name);

/// One of the tables that find_routine() searches.
struct NamedRoutine {
  std::string_view name;
  Routine routine;
};
[[nodiscard]] Routine find_value_routine(std::string_view name);
[[nodiscard]] Routine find_slope_routine(std::string_view name);

/// Copies the first sizes[0] numbers of each column of rows[0] to rows[1].
void copy_columns(const Arguments& arguments);

/// Calls body(i), i in [0, n); the calls must be independent.
template <class Body>
void for_each_number(std::int64_t n, const Body& body) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) body(i);
}

/// Returns the sum of term(i), i in [0, n).
template <class Term>
double sum_of(std::int64_t n, const Term& term) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += term(i);
  return sum;
}

}  // namespace mylos::float64
