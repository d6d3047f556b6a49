// mylos train DECK [key=value ...] [--restart auto|latest|FILE] [--walltime HH:MM:SS] [--stop-after N]
// [--plan FILE] [--debug-tensors N] [--check]
#include <fmt/format.h>
#include <mpi.h>

#include <utility>

#include "commands.hpp"
#include "launch/runtime.hpp"
#include "launch/shared_deck.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "launch/stop_notice.hpp"
#include "mylos/train/run/run.hpp"
#include "mylos/train/run/run_check.hpp"

namespace mylos::app {
namespace {

ExitCode check(RunRequest request) {
  const auto needs_threads = needs_these_threads(request.deck.options);
  const KokkosRuntime kokkos(request.deck.options.run.threads);
  const Output output = request.output;
  const std::string text = check_run(std::move(request), MPI_COMM_WORLD);
  output.line(kokkos.table());
  for (const std::string& line : kokkos.advice(needs_threads)) output.line("# " + line);
  output.line(text);
  return ExitCode::done;
}

/// Launchers forward a signal to all ranks: of many ranks only the first prints a line.
constexpr int max_ranks_that_speak = 16;

void print_notice(const std::string& text, int rank, int ranks) {
  if (rank > 0 && ranks > max_ranks_that_speak) return;
  print_error(ranks == 1 ? fmt::format("mylos: {}", text) : fmt::format("mylos: rank {}: {}", rank, text));
}

}  // namespace

ExitCode train_command(const TrainArguments& arguments, const StopSources& stop) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.walltime.empty()) overrides.push_back(fmt::format("run.walltime={}", arguments.walltime));
  RunRequest request;
  {
    RankGroup& ranks = ranks_of_start();
    request.deck = read_shared_deck(ranks, arguments.deck, overrides);
    request.output = arguments.check ? standard_output(ranks.rank()) : run_log(ranks.rank());
  }
  request.restart = arguments.restart;
  if (arguments.check) return check(std::move(request));
  request.stop_after = arguments.stop_after;
  request.plan_file = arguments.plan;
  request.debug_tensors = arguments.debug_tensors;
  StopNotice notice(stop.signal, [rank = rank_of_start(), ranks = size_of_start()](const std::string& text) {
    print_notice(text, rank, ranks);
  });
  request.stop = stop;
  request.stop.announced = [&notice] { notice.run_has_said_it(); };

  const Options& options = request.deck.options;
  const KokkosRuntime kokkos(options.run.threads);
  for (const std::string& line : kokkos.advice(needs_these_threads(options))) request.output.line(line);
  // A checkpoint that is being written when the run fails is completed after the message.
  std::unique_ptr<Run> run;
  return reporting_errors([&] { return train(std::move(request), MPI_COMM_WORLD, run); });
}

}  // namespace mylos::app
