// A program that learns a law on half of its ranks while the others continue with other work.
// usage: mpirun -n RANKS embedded [DECK]
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "mylos/mylos.hpp"

namespace {

using Matrix = Kokkos::View<float**, Kokkos::LayoutRight>;  // a row per sample
constexpr int samples_of_step = 384;                        // of all ranks
constexpr int cells = 100;  // per side of the square on which the prediction is compared with the law

/// The law that replaces an expensive computation in every cell of a solver. A formula, so that errors are
/// known.
KOKKOS_INLINE_FUNCTION float law(float x, float y) {
  const float hill = Kokkos::exp(-8 * ((x - 0.4f) * (x - 0.4f) + (y - 0.3f) * (y - 0.3f)));
  const float basin = Kokkos::exp(-12 * ((x + 0.4f) * (x + 0.4f) + (y + 0.4f) * (y + 0.4f)));
  return hill - basin + 0.2f * Kokkos::sin(5 * x) * Kokkos::cos(4 * y);
}

/// Points first, first + 1, … of a sequence that fills the square [-1, 1]² uniformly (M. Roberts, "The
/// unreasonable effectiveness of quasirandom sequences", 2018), and the law there.
void sample(long first, const Matrix& inputs, const Matrix& targets) {
  Kokkos::parallel_for(
      "sample", inputs.extent(0), KOKKOS_LAMBDA(const std::size_t row) {
        const double number = static_cast<double>(first) + static_cast<double>(row);
        const double x = 0.5 + 0.7548776662466927 * number;
        const double y = 0.5 + 0.5698402909980532 * number;
        inputs(row, 0) = static_cast<float>(2 * (x - Kokkos::floor(x)) - 1);
        inputs(row, 1) = static_cast<float>(2 * (y - Kokkos::floor(y)) - 1);
        targets(row, 0) = law(inputs(row, 0), inputs(row, 1));
      });
}

KOKKOS_INLINE_FUNCTION float middle(std::size_t cell) {
  return (2 * static_cast<float>(cell) + 1) / cells - 1;
}

/// Writes predictions and exact values of all cells to embedded.csv; returns the mean of the predictions.
double judge(mylos::OnlineTrainer& network) {
  const Matrix inputs("cells", cells * cells, 2);
  const Matrix predictions("predictions", cells * cells, 1);
  Kokkos::parallel_for(
      "cells", inputs.extent(0), KOKKOS_LAMBDA(const std::size_t row) {
        inputs(row, 0) = middle(row % cells);
        inputs(row, 1) = middle(row / cells);
      });
  network.infer(inputs, predictions);

  const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), inputs);
  const auto p = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), predictions);
  std::ofstream table("embedded.csv");
  table << "x,y,truth,prediction\n";
  double mean = 0;
  double squares = 0;
  for (std::size_t row = 0; row < x.extent(0); ++row) {
    const float truth = law(x(row, 0), x(row, 1));
    table << x(row, 0) << ',' << x(row, 1) << ',' << truth << ',' << p(row, 0) << '\n';
    mean += static_cast<double>(p(row, 0)) / (cells * cells);
    squares += std::pow(static_cast<double>(p(row, 0) - truth), 2) / (cells * cells);
  }
  std::printf("root mean square error %.5f\n", std::sqrt(squares));
  return mean;
}

/// The ranks of `ranks` learn the law together, each from samples of its own. Returns the mean of what the
/// network predicts, on the first of them.
double train(const char* deck, MPI_Comm ranks) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  const mylos::Options options = mylos::read_deck(deck);
  mylos::OnlineTrainer network(options, ranks, [](const std::string& text) { std::puts(text.c_str()); });

  // As the subdomains of a solver, ranks have unequal parts: rank r has r + 1 shares.
  const int shares = size * (size + 1) / 2;
  const int begin = samples_of_step * (rank * (rank + 1) / 2) / shares;
  const int end = samples_of_step * ((rank + 1) * (rank + 2) / 2) / shares;
  const Matrix inputs("inputs", static_cast<std::size_t>(end - begin), 2);
  const Matrix targets("targets", static_cast<std::size_t>(end - begin), 1);
  for (long step = 0; step < options.run.steps; ++step) {
    sample(step * samples_of_step + begin, inputs, targets);
    const mylos::StepReport report = network.step(inputs, targets);
    if (rank == 0 && report.step % 500 == 0) {
      std::printf("step %llu: loss %.6f over %lld samples\n", static_cast<unsigned long long>(report.step),
                  report.loss, static_cast<long long>(report.samples));
    }
  }
  network.save("surrogate.h5");
  return rank == 0 ? judge(network) : 0;
}

/// Meanwhile, on the other ranks: the law's mean, by the midpoint rule.
double integrate(MPI_Comm ranks) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  double sum = 0;
  for (int row = rank; row < cells; row += size) {
    const float y = middle(static_cast<std::size_t>(row));
    double part = 0;
    Kokkos::parallel_reduce(
        "integrate", cells,
        KOKKOS_LAMBDA(const int column, double& partial) {
          partial += static_cast<double>(law(middle(static_cast<std::size_t>(column)), y));
        },
        part);
    sum += part;
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, ranks);
  return sum / (cells * cells);
}

void run(const char* deck) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool trains = rank >= size / 2;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, trains ? 1 : 0, rank, &part);
  const double mean = trains ? train(deck, part) : integrate(part);

  int first = 0;
  MPI_Comm_rank(part, &first);
  double means[2] = {0, 0};  // by the midpoint rule, by the network
  if (first == 0) means[trains ? 1 : 0] = mean;
  MPI_Allreduce(MPI_IN_PLACE, means, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && !trains) std::printf("mean %.5f, predicted %.5f\n", means[0], means[1]);
  MPI_Comm_free(&part);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;  // SERIALIZED: gradients are exchanged while step() computes
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    try {
      run(argc > 1 ? argv[1] : "surrogate.toml");
    } catch (const mylos::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      MPI_Abort(MPI_COMM_WORLD,
                static_cast<int>(error.code()));  // ranks that do other work would wait for ever
    }
  }
  MPI_Finalize();
  return 0;
}
