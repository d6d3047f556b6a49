#include <gtest/gtest.h>
#include <Kokkos_Core.hpp>

#include <cmath>

#include "kinetics.hpp"

namespace reacting {

namespace {

using One = Kokkos::Experimental::basic_simd<double, Kokkos::Experimental::simd_abi::scalar>;

struct Result {
  double y1, y2, y3;
};

/// Robertson's problem from (1, 0, 0) at the reference temperature.
Result robertson(double time, double relative) {
  Pair<One> y{One(0.0), One(0.0)};
  One first(1e-6);
  const int steps = integrate_cells(rates_at(One(1.0)), One(1.0), y, first, time,
                                    Tolerance{relative, 1e-2 * relative, 1e-5 * relative});
  EXPECT_GT(steps, 0);
  return {1 - y.y2[0] - y.y3[0], y.y2[0], y.y3[0]};
}

TEST(Kinetics, RobertsonAt40IsThePublishedSolution) {
  // E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.10 and the test set's
  // digits.
  const Result result = robertson(40, 1e-8);
  EXPECT_NEAR(result.y1, 0.7158270688, 2e-9);
  EXPECT_NEAR(result.y2, 9.185534765e-6, 1e-13);
  EXPECT_NEAR(result.y3, 0.2841637457, 2e-9);
}

TEST(Kinetics, ToleranceBoundsTheError) {
  for (const double relative : {1e-4, 1e-6, 1e-8}) {
    const Result result = robertson(40, relative);
    EXPECT_NEAR(result.y1, 0.7158270688, 10 * relative) << relative;
    EXPECT_NEAR(result.y2, 9.185534765e-6, 10 * relative * 9.2e-6) << relative;
  }
}

TEST(Kinetics, RodasHasOrderFourAndItsEstimateOrderThree) {
  // Not stiff, where the classical order shows: y(1) by steps of 1/n against that of 1/8192.
  const Rates<One> k{One(0.7), One(2.0), One(1.5)};
  const auto solve = [&](int steps, double& estimate) {
    Pair<One> y{One(0.1), One(0.2)};
    for (int i = 0; i < steps; ++i) {
      const Step<One> step = rodas_step(k, One(1.0), y, One(1.0 / steps));
      if (i == 0) estimate = std::abs(step.error.y2[0]);
      y = step.y;
    }
    return y.y2[0];
  };
  double estimates[3];
  double errors[3];
  double ignored = 0;
  const double exact = solve(8192, ignored);
  for (int i = 0; i < 3; ++i) errors[i] = std::abs(solve(64 << i, estimates[i]) - exact);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(std::log2(errors[i] / errors[i + 1]), 4, 0.35) << i;
    EXPECT_NEAR(std::log2(estimates[i] / estimates[i + 1]), 4, 0.35) << i;  // local: one more than 3
  }
}

TEST(Kinetics, ACellDoesNotDependOnThoseBesideIt) {
  constexpr auto lanes = Lanes::size();
  const auto y2_of = [](std::size_t lane) { return 1e-5 * static_cast<double>(lane + 1); };
  const auto y3_of = [](std::size_t lane) { return 0.1 * static_cast<double>(lane); };
  const Tolerance tolerance{1e-6, 1e-8, 1e-11};
  Pair<Lanes> all{Lanes([&](auto lane) { return y2_of(lane); }),
                  Lanes([&](auto lane) { return y3_of(lane); })};
  Lanes first(1e-6);
  integrate_cells(rates_at(Lanes(1.1)), Lanes(1.0), all, first, 0.5, tolerance);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    Pair<Lanes> one{Lanes(y2_of(lane)), Lanes(y3_of(lane))};
    Lanes first_of_one(1e-6);
    integrate_cells(rates_at(Lanes(1.1)), Lanes(1.0), one, first_of_one, 0.5, tolerance);
    EXPECT_EQ(all.y2[lane], one.y2[0]) << lane;
    EXPECT_EQ(all.y3[lane], one.y3[0]) << lane;
    EXPECT_EQ(first[lane], first_of_one[0]) << lane;
  }
}

TEST(Kinetics, Y2FollowsItsQuasiSteadyValue) {
  const Result result = robertson(40, 1e-8);
  EXPECT_NEAR(quasi_steady_y2(rates_at(1.0), 1, result.y3), result.y2, 1e-4 * result.y2);
}

TEST(Kinetics, AllCellsOfARankAreIntegratedAndConserved) {
  const Grid grid(9, MPI_COMM_WORLD);
  const Fields fields = make_fields(grid, "fields");
  Kinetics kinetics(grid, 1e-8);
  const Kokkos::View<Cell*> cells("cells", static_cast<std::size_t>(grid.own_cells()));
  const int columns = grid.columns;
  for_each_cell(
      "set", grid, KOKKOS_LAMBDA(int row, int column) {
        cells((row - 1) * columns + column - 1) = {row, column};
        fields(y1, row, column) = 1;
        fields(temperature, row, column) = 1;
      });
  for (int step = 0; step < 4; ++step) kinetics.integrate(fields, cells, grid.own_cells(), 10);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), fields);
  for (int row = 1; row <= grid.rows; ++row) {
    for (int column = 1; column <= grid.columns; ++column) {
      EXPECT_NEAR(host(y1, row, column), 0.7158270688, 4e-9);
      EXPECT_NEAR(host(y2, row, column), 9.185534765e-6, 1e-12);
      EXPECT_NEAR(host(y1, row, column) + host(y2, row, column) + host(y3, row, column), 1, 1e-15);
    }
  }
}

}  // namespace

}  // namespace reacting
