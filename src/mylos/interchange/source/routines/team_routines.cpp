#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine of_teams[] = {{"linear", {}, R"(
template <class Team>
KOKKOS_INLINE_FUNCTION void team_linear(const Team &team, int inputs, int outputs, const real *w,
                                        const real *b, const real *x, real *y) {
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, outputs), [=](int o) {
    real s = b[o];
    for (int i = 0; i < inputs; ++i) s += x[i] * w[i * outputs + o];
    y[o] = s;
  });
}
)"},
                                  {"few_outputs", {}, R"(
template <class Team>
KOKKOS_INLINE_FUNCTION void team_few_outputs(const Team &team, int inputs, int outputs, const real *w,
                                             const real *b, const real *x, real *y) {
  const auto range = Kokkos::TeamThreadRange(team, outputs);
  Kokkos::parallel_for(range, [=](int o) {
    real s = 0;
    Kokkos::parallel_reduce(Kokkos::ThreadVectorRange(team, inputs), [=](int i, real &part) {
      part += x[i] * w[o * inputs + i];
    }, s);
    Kokkos::single(Kokkos::PerThread(team), [=]() { y[o] = b[o] + s; });
  });
}
)"},
                                  {"layernorm", {}, R"(
template <class Team>
KOKKOS_INLINE_FUNCTION void team_layernorm(const Team &team, int n, real epsilon, const real *w,
                                           const real *b, real *x) {
  real total = 0, squares = 0;
  const auto range = Kokkos::TeamVectorRange(team, n);
  Kokkos::parallel_reduce(range, [=](int i, real &s) { s += x[i]; }, total);
  const real mean = total / n;
  Kokkos::parallel_reduce(range, [=](int i, real &s) { s += (x[i] - mean) * (x[i] - mean); }, squares);
  const real scale = 1 / math::sqrt(squares / n + epsilon);
  team.team_barrier();
  Kokkos::parallel_for(range, [=](int i) { x[i] = (x[i] - mean) * scale * w[i] + b[i]; });
}
)"},
                                  {"rmsnorm", {}, R"(
template <class Team>
KOKKOS_INLINE_FUNCTION void team_rmsnorm(const Team &team, int n, real epsilon, const real *w, real *x) {
  real squares = 0;
  const auto range = Kokkos::TeamVectorRange(team, n);
  Kokkos::parallel_reduce(range, [=](int i, real &s) { s += x[i] * x[i]; }, squares);
  const real scale = 1 / math::sqrt(squares / n + epsilon);
  team.team_barrier();
  Kokkos::parallel_for(range, [=](int i) { x[i] *= scale * w[i]; });
}
)"}};

}  // namespace

std::span<const SourceRoutine> team_routines() {
  return of_teams;
}

}  // namespace mylos
