#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mylos/base/errors/deck.hpp"
#include "mylos/mylos.hpp"
#include "simulation.hpp"
#include "transport.hpp"

namespace reacting {

namespace {

/// A Gaussian that the flow (u, v) carries and diffusion widens, on the periodic square.
double gaussian(double x, double y, double time, double u, double v, double diffusivity) {
  const double width = 0.01 + 4 * diffusivity * time;
  double sum = 0;
  for (int i = -2; i <= 2; ++i) {
    for (int j = -2; j <= 2; ++j) {
      const double dx = x - 0.5 - u * time + i;
      const double dy = y - 0.5 - v * time + j;
      sum += 0.01 / width * std::exp(-(dx * dx + dy * dy) / width);
    }
  }
  return sum;
}

/// The largest error after a time of 0.2 at which the Gaussian has moved by (0.2, 0.1).
double error_of(int cells) {
  constexpr double u = 1;
  constexpr double v = 0.5;
  constexpr double diffusivity = 0.02;
  const Grid grid(cells, MPI_COMM_WORLD);
  Transport transport(
      grid, [](double x, double y) { return u * y - v * x; }, diffusivity);
  const Fields fields = make_fields(grid, "fields");
  const auto host = Kokkos::create_mirror_view(fields);
  const auto exact = [&](int row, int column, double time) {
    return gaussian((grid.first_column + column - 0.5) * grid.spacing,
                    (grid.first_row + row - 0.5) * grid.spacing, time, u, v, diffusivity);
  };
  for (int row = 1; row <= grid.rows; ++row) {
    for (int column = 1; column <= grid.columns; ++column) host(y1, row, column) = exact(row, column, 0);
  }
  Kokkos::deep_copy(fields, host);
  const int steps = static_cast<int>(std::ceil(0.2 / (0.4 * transport.max_dt())));
  for (int step = 0; step < steps; ++step) transport.advance(fields, 0.2 / steps);
  Kokkos::deep_copy(host, fields);
  double worst = 0;
  for (int row = 1; row <= grid.rows; ++row) {
    for (int column = 1; column <= grid.columns; ++column) {
      worst = std::max(worst, std::abs(host(y1, row, column) - exact(row, column, 0.2)));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return worst;
}

TEST(Transport, AGaussianMovesAndSpreadsWithSecondOrder) {
  const double coarse = error_of(32);
  const double fine = error_of(64);
  EXPECT_LT(fine, 6e-3);  // of 0.38
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.25);
}

TEST(Transport, KeepsMassSumAndRange) {
  const Grid grid(32, MPI_COMM_WORLD);
  Transport transport(grid, four_vortices(1), 0.016);
  const Fields fields = make_fields(grid, "fields");
  const auto host = Kokkos::create_mirror_view(fields);
  for (int row = 1; row <= grid.rows; ++row) {
    for (int column = 1; column <= grid.columns; ++column) {
      const bool inside =
          (grid.first_row + row) % 16 < 8 && (grid.first_column + column) % 16 < 8;  // a sharp edge
      host(y1, row, column) = inside ? 1 : 0;
      host(y3, row, column) = inside ? 0 : 1;
    }
  }
  Kokkos::deep_copy(fields, host);
  for (int step = 0; step < 50; ++step) transport.advance(fields, transport.max_dt());
  Kokkos::deep_copy(host, fields);
  double mass = 0;
  for (int row = 1; row <= grid.rows; ++row) {
    for (int column = 1; column <= grid.columns; ++column) {
      mass += host(y1, row, column);
      EXPECT_GE(host(y1, row, column), 0);
      EXPECT_LE(host(y1, row, column), 1);
      EXPECT_NEAR(host(y1, row, column) + host(y3, row, column), 1, 1e-13);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &mass, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_NEAR(mass, 256, 1e-10);
}

TEST(Transport, RefusesTooLittleDiffusion) {
  const Grid grid(32, MPI_COMM_WORLD);
  try {
    const Transport transport(grid, four_vortices(1), 0.01);
    FAIL();
  } catch (const mylos::Error& error) {
    EXPECT_EQ(error.id(), mylos::errors::bad_value);
    EXPECT_NE(error.message().find("at least 0.0155"), std::string_view::npos) << error.what();
  }
}

TEST(Transport, GatherAndScatterAreInverse) {
  const Grid grid(7, MPI_COMM_WORLD);
  const Fields fields = make_fields(grid, "fields");
  set_initial_state(grid, fields);
  const Fields copy = make_fields(grid, "copy");
  scatter(grid, gather(grid, fields), copy);
  const auto a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), fields);
  const auto b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy);
  for (int field = 0; field < fields_of_cell; ++field) {
    for (int row = 1; row <= grid.rows; ++row) {
      for (int column = 1; column <= grid.columns; ++column) {
        EXPECT_EQ(a(field, row, column), b(field, row, column));
      }
    }
  }
}

}  // namespace

}  // namespace reacting
