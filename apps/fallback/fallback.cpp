// A solver that computes a law by a network where its inputs are like those of the training, and by itself
// elsewhere, and reports how often.
// usage: fallback table FILE.csv    samples of the law, to train on
//        fallback run MODEL.h5      points that leave what was learned
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "mylos/base/errors/files.hpp"
#include "mylos/mylos.hpp"

namespace {

using Matrix = Kokkos::View<float**, Kokkos::LayoutRight>;  // a row per point
using Flags = Kokkos::View<std::uint8_t*>;

/// Stands for what takes long to compute.
KOKKOS_INLINE_FUNCTION float law(float x, float y) {
  return Kokkos::sin(3 * x) * Kokkos::cos(2 * y);
}

/// Writes points of the band |x| <= 1, |y - x| <= 0.3 (M. Roberts, "The unreasonable effectiveness of
/// quasirandom sequences", 2018), and the law there.
void write_table(const char* path) {
  std::ofstream file(path);
  file << "x,y,z\n";
  for (int i = 0; i < 4000; ++i) {
    const double a = 0.7548776662466927 * i;
    const double b = 0.5698402909980532 * i;
    const auto x = static_cast<float>(2 * (a - std::floor(a)) - 1);
    const auto y = static_cast<float>(x + 0.3 * (2 * (b - std::floor(b)) - 1));
    file << x << ',' << y << ',' << law(x, y) << '\n';
  }
  if (!file.flush()) mylos::fail_run(mylos::errors::cannot_write, "{}: cannot be written", path);
}

/// Points on a circle that grows: all of them are within the band at first, and outside of it at last.
void place(const Matrix& points, double radius) {
  const auto count = static_cast<double>(points.extent(0));
  Kokkos::parallel_for(
      "place", points.extent(0), KOKKOS_LAMBDA(const std::size_t i) {
        const double angle = 6.283185307179586 * static_cast<double>(i) / count;
        points(i, 0) = static_cast<float>(radius * Kokkos::cos(angle));
        points(i, 1) = static_cast<float>(radius * Kokkos::sin(angle));
      });
}

struct Errors {
  double with_fallback = 0;
  double of_network = 0;
};

/// Computes the flagged points by the law. Returns their number; `errors`: of all points.
long fall_back(const Matrix& points, const Flags& flags, const Matrix& values, Errors& errors) {
  long flagged = 0;
  double worst = errors.with_fallback;
  double alone = errors.of_network;
  Kokkos::parallel_reduce(
      "fall_back", points.extent(0),
      KOKKOS_LAMBDA(const std::size_t i, long& count, double& with, double& without) {
        const float exact = law(points(i, 0), points(i, 1));  // known here, to show the errors
        const double error = Kokkos::abs(static_cast<double>(values(i, 0)) - static_cast<double>(exact));
        without = Kokkos::max(without, error);
        if (flags(i) == 0) {
          with = Kokkos::max(with, error);
          return;
        }
        values(i, 0) = exact;
        ++count;
      },
      flagged, Kokkos::Max<double>(worst), Kokkos::Max<double>(alone));
  errors = {std::max(worst, errors.with_fallback), std::max(alone, errors.of_network)};
  return flagged;
}

void run(const char* path) {
  mylos::Model model(path);
  constexpr long count = 2000;
  constexpr int steps = 30;
  const Matrix points("points", count, 2);
  const Matrix values("values", count, 1);
  const Flags flags("flags", count);
  const mylos::Execution exec;
  Errors errors;
  long all_flagged = 0;
  for (int step = 0; step < steps; ++step) {
    const double radius = 0.1 + 1.4 * step / (steps - 1);
    place(points, radius);
    model.check_inputs(exec, points, flags);
    model.infer(exec, points, values);
    const long flagged = fall_back(points, flags, values, errors);
    all_flagged += flagged;
    if (step % 5 == 0)
      std::printf("radius %.2f: %5.1f %% of the points by the law\n", radius, 100.0 * flagged / count);
  }
  std::printf("by the law %.1f %% of all points; largest error %.3g, of the network alone %.3g\n",
              100.0 * all_flagged / (count * steps), errors.with_fallback, errors.of_network);
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  if (argc != 3) {
    std::fputs("usage: fallback table FILE.csv | fallback run MODEL.h5\n", stderr);
    return static_cast<int>(mylos::ExitCode::bad_input);
  }
  try {
    if (std::string_view(argv[1]) == "table")
      write_table(argv[2]);
    else
      run(argv[2]);
  } catch (const mylos::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
