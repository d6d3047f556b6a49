#include "kinetics.hpp"

#include "mylos/base/errors/runs.hpp"
#include "mylos/mylos.hpp"

namespace reacting {

Kinetics::Kinetics(const Grid& grid, double tolerance)
    : first_steps("first steps", 1, static_cast<std::size_t>(grid.rows) + 2,
                  static_cast<std::size_t>(grid.columns) + 2),
      grid_(grid),
      tolerance_{tolerance, 1e-2 * tolerance, 1e-5 * tolerance} {
  Kokkos::deep_copy(first_steps, 1e-6);
}

long Kinetics::integrate(const Fields& fields, const Kokkos::View<Cell*>& list, int count, double dt) {
  constexpr int lanes = static_cast<int>(Lanes::size());
  const Tolerance tolerance = tolerance_;
  const auto first = first_steps;
  long steps = 0;
  int failures = 0;
  Kokkos::parallel_reduce(
      "kinetics", Kokkos::RangePolicy<Kokkos::Schedule<Kokkos::Dynamic>>(0, (count + lanes - 1) / lanes),
      KOKKOS_LAMBDA(int vector, long& all_steps, int& all_failures) {
        const int begin = vector * lanes;
        const auto cell = [&](int lane) { return list(begin + lane < count ? begin + lane : count - 1); };
        const auto load = [&](int field) {
          return Lanes([&](auto lane) {
            const Cell at = cell(static_cast<int>(lane));
            return fields(field, at.row, at.column);
          });
        };
        Pair<Lanes> y{load(y2), load(y3)};
        const Lanes total = load(y1) + y.y2 + y.y3;
        Lanes h([&](auto lane) {
          const Cell at = cell(static_cast<int>(lane));
          return first(0, at.row, at.column);
        });
        const int taken = integrate_cells(rates_at(load(temperature)), total, y, h, dt, tolerance);
        const int used = count - begin < lanes ? count - begin : lanes;
        for (int lane = 0; lane < used; ++lane) {
          const auto l = static_cast<std::size_t>(lane);
          const auto [row, column] = cell(lane);
          const double all = total[l];
          const double new_y3 = Kokkos::min(all, Kokkos::max(0.0, y.y3[l]));  // within the tolerance
          const double new_y2 = Kokkos::min(all - new_y3, Kokkos::max(0.0, y.y2[l]));
          fields(y1, row, column) = all - new_y3 - new_y2;
          fields(y2, row, column) = new_y2;
          fields(y3, row, column) = new_y3;
          first(0, row, column) = h[l];
        }
        all_steps += static_cast<long>(taken) * used;
        all_failures += taken < 0 ? 1 : 0;
      },
      steps, failures);
  if (failures > 0) {
    mylos::fail_run(mylos::errors::diverged,
                    "rank {}: the kinetics of a cell does not reach the tolerance {} within {} s", grid_.rank,
                    tolerance.relative, dt);
  }
  return steps;
}

}  // namespace reacting
