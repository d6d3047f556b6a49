// A program that computes its own gradients in half, and uses only Mylos' loss scaler: all ranks fit one
// Fourier series to exp(sin x) by gradient descent, each to samples of its own, without a loss scale and
// with. usage: mpirun -n RANKS gradients
#include <cmath>
#include <cstdio>

#include "mylos/mylos.hpp"

namespace {

constexpr int steps = 60;
constexpr int samples = 16384;  // of all ranks
constexpr int terms = 17;       // 1, cos x, sin x, ..., cos 8x, sin 8x

struct Ranks {
  int rank = 0;
  int size = 1;
};

/// The series on this rank's samples: sum of coefficients(k) * basis(i, k).
struct Series {
  explicit Series(const Ranks& ranks)
      : first(samples * ranks.rank / ranks.size),
        count(samples * (ranks.rank + 1) / ranks.size - first),
        basis("basis", static_cast<std::size_t>(count), terms),
        targets("targets", static_cast<std::size_t>(count)),
        slopes("dL/dp", static_cast<std::size_t>(count)) {}

  int first;
  int count;
  Kokkos::View<float**, Kokkos::LayoutRight> basis;
  Kokkos::View<float*> targets;
  Kokkos::View<mylos::half*> slopes;  // of the loss by each prediction p, times the loss scale
  Kokkos::View<float[terms]> coefficients{"coefficients"};
  Kokkos::View<mylos::half[terms]> gradient{"gradient"};  // of this rank's samples, times the loss scale
  Kokkos::View<float[terms]> unscaled{"unscaled"};        // of this rank's samples, then of all
};

void sample(const Series& series) {
  Kokkos::parallel_for(
      "sample", series.count, KOKKOS_LAMBDA(const int i) {
        const double x = 6.283185307179586 * (series.first + i) / samples;
        for (int k = 0; k < terms; ++k) {
          const double phase = ((k + 1) / 2) * x;
          const bool is_sine = k > 0 && k % 2 == 0;
          series.basis(i, k) = static_cast<float>(is_sine ? Kokkos::sin(phase) : Kokkos::cos(phase));
        }
        series.targets(i) = static_cast<float>(Kokkos::exp(Kokkos::sin(x)));
      });
}

KOKKOS_INLINE_FUNCTION float residual(const Series& series, int i) {
  float sum = -series.targets(i);
  for (int k = 0; k < terms; ++k) sum += series.coefficients(k) * series.basis(i, k);
  return sum;
}

/// Gradients of `scale` times the loss, the mean of the squared residuals over the samples of all ranks. The
/// slopes are tiny: 2 / 16384 of a residual, where half ends at 6e-8.
void differentiate(const Series& series, float scale) {
  Kokkos::parallel_for(
      "slopes", series.count, KOKKOS_LAMBDA(const int i) {
        series.slopes(i) = mylos::from_float<mylos::half>(scale * (2.0f / samples) * residual(series, i));
      });
  Kokkos::parallel_for(
      "gradient", terms, KOKKOS_LAMBDA(const int k) {
        float sum = 0;
        for (int i = 0; i < series.count; ++i) sum += mylos::to_float(series.slopes(i)) * series.basis(i, k);
        series.gradient(k) = mylos::from_float<mylos::half>(sum);
      });
}

void descend(const Series& series) {
  const auto sum = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), series.unscaled);
  MPI_Allreduce(MPI_IN_PLACE, sum.data(), terms, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  Kokkos::deep_copy(series.unscaled, sum);
  Kokkos::parallel_for(
      "descend", terms, KOKKOS_LAMBDA(const int k) { series.coefficients(k) -= 0.5f * series.unscaled(k); });
}

double error_of(const Series& series) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "error", series.count,
      KOKKOS_LAMBDA(const int i, double& part) {
        const double one = static_cast<double>(residual(series, i));
        part += one * one;
      },
      sum);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return std::sqrt(sum / samples);
}

void fit(const Ranks& ranks, const char* name, const mylos::ScalerOptions& options) {
  const Series series(ranks);
  sample(series);
  mylos::GradientScaler scaler(options, MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    differentiate(series, scaler.scale());
    scaler.unscale_and_check(series.gradient, series.unscaled);  // in float: half would lose digits again
    if (scaler.update()) descend(series);                        // the same answer on all ranks
  }
  const double error = error_of(series);
  if (ranks.rank == 0) {
    std::printf("loss scale %s: error %.1e after %d steps, %lld of them skipped; scale %g\n", name, error,
                steps, static_cast<long long>(scaler.statistics().overflows),
                static_cast<double>(scaler.scale()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    try {
      fit(ranks, "off", mylos::ScalerOptions{.mode = mylos::ScalerMode::off});
      fit(ranks, "dynamic", mylos::scaler_preset("standard"));
    } catch (const mylos::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
  }
  MPI_Finalize();
  return 0;
}
