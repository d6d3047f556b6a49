// A reacting flow that learns a surrogate of its chemistry while it computes.
// usage: mpirun -n RANKS reacting DECK [name=value ...]; reacting --help lists the options.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "mylos/base/errors/files.hpp"
#include "mylos/mylos.hpp"
#include "report.hpp"
#include "restart.hpp"

namespace reacting {

namespace {

/// FOLDER/history.csv: the run over time, on rank 0.
class History {
 public:
  /// Keeps the rows of earlier starts up to the step of `simulation`.
  History(const Options& options, const Simulation& simulation) {
    if (simulation.grid.rank != 0) return;
    const std::string path = options.folder + "/history.csv";
    std::string kept = "step,network_share,step_error,loss,y1_error,y2_error,y3_error\n";
    if (options.restart) {
      std::ifstream before(path);
      std::string line;
      std::getline(before, line);
      while (std::getline(before, line) && std::stoull(line) <= simulation.step) kept += line + '\n';
    }
    file_.open(path);
    file_ << kept;
    if (!file_) mylos::fail_run(mylos::errors::cannot_write, "{}: cannot be written", path);
  }
  void add(const Simulation& simulation, const FieldErrors& errors) {
    const Surrogate* surrogate = simulation.surrogate.get();
    if (!file_.is_open()) return;
    file_ << fmt::format("{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n", simulation.step,
                         surrogate ? surrogate->share_of_network : 0, surrogate ? surrogate->last_error() : 0,
                         surrogate ? surrogate->last_loss() : 0, errors.relative[0], errors.relative[1],
                         errors.relative[2])
          << std::flush;
  }

 private:
  std::ofstream file_;
};

void print_progress(const Simulation& simulation) {
  if (simulation.grid.rank != 0 || !simulation.surrogate) return;
  const Surrogate& surrogate = *simulation.surrogate;
  std::printf("step %llu: network %5.1f %% of cells, error of a step %.3f %%, loss %.2e\n",
              static_cast<unsigned long long>(simulation.step), 100 * surrogate.share_of_network,
              100 * surrogate.last_error(), surrogate.last_loss());
  std::fflush(stdout);
}

/// Both solvers from the same initial state, in turn for `block` steps each, so that both meet the same
/// disturbances of the machine.
void run_both(const Options& options) {
  constexpr int block = 20;
  Simulation alone(options, MPI_COMM_WORLD, false);
  Simulation with(options, MPI_COMM_WORLD, true);
  Extremes extremes;
  History history(options, with);
  while (with.step < static_cast<std::uint64_t>(options.steps)) {
    const int steps = std::min(block, options.steps - static_cast<int>(with.step));
    for (Simulation* simulation : {&alone, &with}) {
      for (int i = 0; i < steps; ++i) {
        simulation->advance();
        extremes.add(simulation->state());
      }
    }
    history.add(with, compare(with, alone));
    if (with.step % 200 == 0) print_progress(with);
  }
  const Square fields = gather(with.grid, with.fields);
  const Square reference = gather(alone.grid, alone.fields);
  if (alone.grid.rank == 0) {
    write_squares(options.folder + "/fields.h5", {{"with_surrogate", fields}, {"alone", reference}});
  }
  with.surrogate->network.save(options.folder + "/network.h5");
  print_table(&alone, &with, extremes);
}

void run_one(const Options& options) {
  Simulation simulation(options, MPI_COMM_WORLD, options.mode == Mode::surrogate);
  if (options.restart) read_restart(simulation, options.folder);
  Extremes extremes;
  History history(options, simulation);
  const int end = options.stop_after > 0 ? std::min(options.stop_after, options.steps) : options.steps;
  while (simulation.step < static_cast<std::uint64_t>(end)) {
    simulation.advance();
    extremes.add(simulation.state());
    if (simulation.step % 20 == 0) history.add(simulation, {});
    if (simulation.step % 200 == 0) print_progress(simulation);
    const auto every = static_cast<std::uint64_t>(options.save_every);
    if (every > 0 && simulation.step % every == 0 && simulation.step < static_cast<std::uint64_t>(end)) {
      write_restart(simulation, options.folder);
    }
  }
  write_restart(simulation, options.folder);
  if (simulation.surrogate) {
    print_table(nullptr, &simulation, extremes);
  } else {
    print_table(&simulation, nullptr, extremes);
  }
}

void run(const Options& options) {
  std::filesystem::create_directories(options.folder);
  if (options.mode == Mode::compare) {
    run_both(options);
  } else {
    run_one(options);
  }
}

}  // namespace

}  // namespace reacting

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--help") {
    std::fputs(reacting::help_text().c_str(), stdout);
    return 0;
  }
  int threads = 0;  // the network is too small for its exchange to be hidden
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  int code = 0;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    try {
      const reacting::Options options = reacting::read_options(argc, argv);
      try {
        reacting::run(options);
      } catch (const std::exception& exception) {
        const mylos::Error error = mylos::Error::of(exception);
        std::fflush(stdout);
        std::fprintf(stderr, "reacting: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));  // other ranks may wait for this one
      }
    } catch (const mylos::Error& error) {  // the same on all ranks
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      if (rank == 0) std::fprintf(stderr, "reacting: %s\n", error.what());
      code = static_cast<int>(error.code());
    }
  }
  MPI_Finalize();
  return code;
}
