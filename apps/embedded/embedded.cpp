// The smallest program that trains a network on its own views: all ranks learn a law together, each from
// samples of its own. apps/reacting is a solver that does it.
// usage: mpirun -n RANKS embedded [DECK]
#include <cstdio>

#include "mylos/mylos.hpp"

namespace {

using Matrix = Kokkos::View<float**, Kokkos::LayoutRight>;  // a row per sample

/// Points first, first + 1, ... of a sequence that fills the square [-1, 1]^2 uniformly (M. Roberts, "The
/// unreasonable effectiveness of quasirandom sequences", 2018), and the law there.
void sample(long first, const Matrix& inputs, const Matrix& targets) {
  Kokkos::parallel_for(
      "sample", inputs.extent(0), KOKKOS_LAMBDA(const std::size_t row) {
        const double number = static_cast<double>(first) + static_cast<double>(row);
        const double x = 0.5 + 0.7548776662466927 * number;
        const double y = 0.5 + 0.5698402909980532 * number;
        inputs(row, 0) = static_cast<float>(2 * (x - Kokkos::floor(x)) - 1);
        inputs(row, 1) = static_cast<float>(2 * (y - Kokkos::floor(y)) - 1);
        targets(row, 0) = Kokkos::sin(3 * inputs(row, 0)) * Kokkos::cos(2 * inputs(row, 1));
      });
}

void train(const char* deck) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int begin = 384 * rank / size;
  const int end = 384 * (rank + 1) / size;
  const Matrix inputs("inputs", static_cast<std::size_t>(end - begin), 2);
  const Matrix targets("targets", static_cast<std::size_t>(end - begin), 1);

  const mylos::Options options = mylos::read_deck(deck);
  mylos::OnlineTrainer network(options, MPI_COMM_WORLD,
                               [](const std::string& text) { std::puts(text.c_str()); });
  mylos::StepReport report;
  for (long step = 0; step < options.run.steps; ++step) {
    sample(step * 384 + begin, inputs, targets);
    report = network.step(inputs, targets);
  }
  network.save("surrogate.h5");
  if (rank == 0)
    std::printf("loss %.6f over %lld samples\n", report.loss, static_cast<long long>(report.samples));
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;  // SERIALIZED: gradients are exchanged while step() computes
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    try {
      train(argc > 1 ? argv[1] : "surrogate.toml");
    } catch (const mylos::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
  }
  MPI_Finalize();
  return 0;
}
