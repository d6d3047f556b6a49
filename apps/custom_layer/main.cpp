// A program that brings a layer of its own: all ranks learn how fast waves move, from states and those one
// step later. The deck names the layer like any other.
// usage: mpirun -n RANKS custom_layer [DECK]
#include <cstdio>
#include <memory>

#include "advection.hpp"

namespace {

using Matrix = Kokkos::View<float**, Kokkos::LayoutRight>;  // a row per sample

constexpr double speeds[] = {0.3, 0.7};  // Courant numbers of the two channels: what is to be found
constexpr int points = 64;

/// Waves of some wave numbers and phases, and the same after an upwind step.
void sample(long first, const Matrix& states, const Matrix& next) {
  const double slow = speeds[0];
  const double fast = speeds[1];
  Kokkos::parallel_for(
      "sample", states.extent(0), KOKKOS_LAMBDA(const std::size_t row) {
        const auto number = static_cast<double>(first) + static_cast<double>(row);
        const double phase = 0.7548776662466927 * number;
        const auto wave = [&](int point, int channel) {
          const double turns = static_cast<double>(static_cast<long>(number) % 5 + 1 + channel);
          return Kokkos::sin(6.283185307179586 * (turns * point / points + phase));
        };
        for (int point = 0; point < points; ++point) {
          for (int channel = 0; channel < 2; ++channel) {
            const double here = wave(point, channel);
            const double left = wave(point - 1, channel);
            states(row, 2 * point + channel) = static_cast<float>(here);
            next(row, 2 * point + channel) =
                static_cast<float>(here - (channel == 0 ? slow : fast) * (here - left));
          }
        }
      });
}

/// Returns the greatest error of the stored network on samples that it has not seen.
double error_of(const char* file, const mylos::CustomLayers& layers) {
  mylos::Model model(file, {.custom_layers = layers});
  const Matrix states("states", 16, 2 * points);
  const Matrix next("next", 16, 2 * points);
  const Matrix predicted("predicted", 16, 2 * points);
  sample(1000003, states, next);
  Kokkos::fence();
  model.infer(mylos::Execution(), states, predicted);
  double greatest = 0;
  Kokkos::parallel_reduce(
      "error", states.extent(0) * states.extent(1),
      KOKKOS_LAMBDA(const std::size_t i, double& most) {
        const double error = Kokkos::abs(static_cast<double>(predicted.data()[i]) - next.data()[i]);
        most = error > most ? error : most;
      },
      Kokkos::Max<double>(greatest));
  return greatest;
}

void train(const char* deck) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int begin = 48 * rank / size;
  const int end = 48 * (rank + 1) / size;
  const Matrix states("states", static_cast<std::size_t>(end - begin), 2 * points);
  const Matrix next("next", static_cast<std::size_t>(end - begin), 2 * points);

  const mylos::CustomLayers layers{std::make_shared<Advection>()};
  mylos::Options options = mylos::read_deck(deck);
  options.model.custom_layers = layers;
  mylos::OnlineTrainer network(options, MPI_COMM_WORLD,
                               [](const std::string& text) { std::puts(text.c_str()); });
  mylos::StepReport report;
  for (long step = 0; step < options.run.steps; ++step) {
    sample(step * 48 + begin, states, next);
    report = network.step(states, next);
  }
  network.save("advection.h5");
  float found[2] = {};
  network.parameter("advection/speed").read(Kokkos::View<float[2], Kokkos::HostSpace>(found));
  if (rank == 0)
    std::printf("loss %.3g, speeds %.4f and %.4f, greatest error of advection.h5 %.3g\n", report.loss,
                found[0], found[1], error_of("advection.h5", layers));
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;  // SERIALIZED: gradients are exchanged while step() computes
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    try {
      train(argc > 1 ? argv[1] : "advection.toml");
    } catch (const mylos::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    }
  }
  MPI_Finalize();
  return 0;
}
