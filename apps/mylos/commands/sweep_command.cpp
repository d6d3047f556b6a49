// mylos sweep DECK key=a,b,c key=low:high:log ... [--out FOLDER] [--trials N] [--ranks-per-trial R] [--metric
// M]
// [--halving] [--first-steps N] [--first-seconds N] [--factor F] [--budget steps|time] [--seed S]
#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "commands.hpp"
#include "launch/blocking_call.hpp"
#include "launch/runtime.hpp"
#include "launch/shared_deck.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "launch/stop_notice.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/sweep/run/sweep_memory.hpp"
#include "mylos/sweep/run/sweep_monitor.hpp"
#include "mylos/sweep/run/sweep_run.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_best_shown = 5;

SweepRequest request_of(const SweepArguments& arguments, std::string deck_text) {
  return {.deck_text = std::move(deck_text),
          .deck_file = arguments.deck,
          .words = arguments.words,
          .folder = arguments.output,
          .trials = arguments.trials,
          .ranks_per_trial = arguments.ranks_per_trial,
          .metric = arguments.metric,
          .halving = arguments.halving,
          .first_rung = arguments.budget == "time" ? arguments.first_seconds : arguments.first_steps,
          .factor = arguments.factor,
          .by_time = arguments.budget == "time",
          .seed = static_cast<std::uint64_t>(arguments.seed)};
}

/// The communicator of this rank's group; MPI_COMM_NULL on ranks that form no group.
class GroupCommunicator {
 public:
  GroupCommunicator(RankGroup& all, int ranks_per_trial) {
    const int rank = all.rank();
    const int group = rank / ranks_per_trial;
    const bool is_complete = (group + 1) * ranks_per_trial <= all.size();
    all.barrier();  // a rank that does not come is named here
    const BlockingCall call("MPI_Comm_split", all.timeout_s());
    MPI_Comm_split(MPI_COMM_WORLD, is_complete ? group : MPI_UNDEFINED, rank, &group_);
  }
  ~GroupCommunicator() {
    if (group_ != MPI_COMM_NULL) MPI_Comm_free(&group_);
  }
  GroupCommunicator(const GroupCommunicator&) = delete;
  GroupCommunicator& operator=(const GroupCommunicator&) = delete;
  [[nodiscard]] MPI_Comm mpi() const { return group_; }

 private:
  MPI_Comm group_ = MPI_COMM_NULL;
};

/// All ranks. Waits for all of them while they show that they run: other groups may train for days.
void wait_for_all(Heartbeat& all) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (;;) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    all.require_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string groups_line(const Sweep& sweep, int ranks) {
  const int size = sweep.description().ranks_per_trial;
  const int groups = ranks / size;
  std::string line =
      fmt::format("{}: {} members, {} at a time on {} rank{} each; {}", sweep.folder(), sweep.members(),
                  groups, size, size == 1 ? "" : "s", sweep.description().metric);
  if (const int rest = ranks - groups * size; rest > 0)
    line += fmt::format("\n{} of the {} ranks form no group of {} and do nothing", rest, ranks, size);
  return line;
}

void print_best(const Sweep& sweep, const std::vector<MemberRow>& rows, const Output& output) {
  const std::vector<std::size_t> order = best_members(rows, sweep.description().higher_is_better);
  for (std::size_t i = 0; i < std::min(order.size(), max_best_shown); ++i) {
    const MemberRow& row = rows[order[i]];
    output.line(fmt::format("  {}  {} {:.6g} at step {}  {}", member_name(order[i]),
                            sweep.description().metric, *row.value, *row.best_step,
                            sweep.values_of(order[i])));
  }
}

}  // namespace

ExitCode sweep_command(const SweepArguments& arguments, const StopSources& stop) {
  const int rank = rank_of_start();
  const int size = size_of_start();
  if (arguments.ranks_per_trial > size)
    fail_input(errors::wrong_rank_count,
               "--ranks-per-trial {}: there {} {} rank{}; start more with mpirun -n",
               arguments.ranks_per_trial, size == 1 ? "is" : "are", size, size == 1 ? "" : "s");
  RankGroup& all = ranks_of_start();
  std::string text;
  run_on_first(all, [&] { text = read_deck_file(arguments.deck); });
  text = broadcast_text(all, text);
  std::unique_ptr<Sweep> sweep;
  run_on_all(all, [&] { sweep = std::make_unique<Sweep>(request_of(arguments, std::move(text))); });
  keep_deadline(sweep->options().communication);
  const Output output = run_log(rank);
  const KokkosRuntime kokkos(sweep->options().run.threads);
  for (const std::string& line : kokkos.advice(needs_these_threads(sweep->options()))) output.line(line);
  sweep->open(all);
  const NodeShare share = share_of_node(all);
  run_on_first(all, [&] { require_members_fit(*sweep, share); });
  StopNotice notice(stop.signal, [rank](const std::string& line) {
    if (rank == 0) print_error("mylos: " + line);
  });
  return reporting_errors([&] {
    const std::unique_ptr<FolderLock> lock = take_sweep_folder(*sweep, all);
    output.line(groups_line(*sweep, size));
    Heartbeat heartbeat(sweep->folder(), rank, size, all.timeout_s());
    const GroupCommunicator communicator(all, arguments.ranks_per_trial);
    SweepStop asked(stop.signal, sweep->folder());
    std::unique_ptr<SweepMonitor> monitor;
    if (rank == 0) monitor = std::make_unique<SweepMonitor>(*sweep, output.line);
    if (communicator.mpi() != MPI_COMM_NULL) {
      RankGroup ranks(communicator.mpi(), all.timeout_s());
      StopSources sources = stop;
      sources.announced = [&notice] { notice.run_has_said_it(); };
      SweepGroup group{ranks, share, std::move(sources), asked, heartbeat};
      train_members(*sweep, group);
    }
    wait_for_all(heartbeat);
    ExitCode code = ExitCode::done;
    run_on_first(all, [&] {
      monitor->finish();
      print_best(*sweep, monitor->rows(), output);
      code = leave_sweep_folder(*sweep);
      if (code == ExitCode::requeue)
        output.line(fmt::format("asked to stop by {}: the same command continues the sweep", asked.asked()));
    });
    all.broadcast(&code, sizeof code, 0);
    return code;
  });
}

}  // namespace mylos::app
