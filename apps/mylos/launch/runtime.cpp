#include "launch/runtime.hpp"

#include <fmt/ranges.h>
#include <Kokkos_Core.hpp>
#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "launch/blocking_call.hpp"
#include "launch/placement_report.hpp"
#include "launch/shutdown.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "launch/thread_count.hpp"
#include "mylos/base/device/devices.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos::app {
namespace {

constexpr auto hearing_time = std::chrono::seconds(2);
constexpr auto last_wait = std::chrono::seconds(5);
constexpr int failed_tag = 1;  // of messages between ranks that end
constexpr int spoken_tag = 2;

/// Returns the ranks that do not call this within the hearing time. Each failing rank sends a message to all
/// others; a rank that is stuck in a collective or stopped does not.
std::vector<int> silent_ranks(int rank, int size) {
  std::vector<int> silent;
  std::vector<MPI_Request> announcements;
  std::vector<MPI_Request> heard;
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    silent.push_back(other);
    MPI_Irecv(nullptr, 0, MPI_BYTE, other, failed_tag, MPI_COMM_WORLD, &heard.emplace_back());
    MPI_Isend(nullptr, 0, MPI_BYTE, other, failed_tag, MPI_COMM_WORLD, &announcements.emplace_back());
  }
  const auto deadline = std::chrono::steady_clock::now() + hearing_time;
  while (!silent.empty() && std::chrono::steady_clock::now() < deadline) {
    for (std::size_t i = heard.size(); i-- > 0;) {
      int done = 0;
      MPI_Test(&heard[i], &done, MPI_STATUS_IGNORE);
      if (done == 0) continue;
      heard.erase(heard.begin() + static_cast<std::ptrdiff_t>(i));
      silent.erase(silent.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // MPI_Abort discards messages that are still in flight.
  if (silent.empty())
    MPI_Waitall(static_cast<int>(announcements.size()), announcements.data(), MPI_STATUSES_IGNORE);
  return silent;
}

/// Sends the silent ranks a message that the cause is being printed.
void announce_spoken(const std::vector<int>& silent) {
  std::vector<MPI_Request> announcements(silent.size());
  for (std::size_t i = 0; i < silent.size(); ++i)
    MPI_Isend(nullptr, 0, MPI_BYTE, silent[i], spoken_tag, MPI_COMM_WORLD, &announcements[i]);
  int done = 0;
  MPI_Testall(static_cast<int>(announcements.size()), announcements.data(), &done, MPI_STATUSES_IGNORE);
}

/// Returns true if the other ranks no longer wait for this rank and have printed the cause: it was stopped,
/// and has now resumed.
bool others_have_spoken() {
  int spoken = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, spoken_tag, MPI_COMM_WORLD, &spoken, MPI_STATUS_IGNORE);
  return spoken != 0;
}

/// Prints one message for all ranks: on rank 0 if all failed, otherwise on the lowest failed rank, which then
/// ends the others.
ExitCode report(const Error& error) {
  const int rank = rank_of_start();
  const int size = size_of_start();
  const std::vector<int> silent = size > 1 ? silent_ranks(rank, size) : std::vector<int>();
  if (size > 1 && others_have_spoken()) return error.code();
  if (silent.empty()) {
    if (rank == 0) print_error(fmt::format("mylos: {}", error.what()));
    return error.code();
  }
  const auto below =
      static_cast<std::size_t>(std::lower_bound(silent.begin(), silent.end(), rank) - silent.begin());
  if (below < static_cast<std::size_t>(rank)) std::this_thread::sleep_for(last_wait);  // a lower one speaks
  if (others_have_spoken()) return error.code();
  announce_spoken(silent);
  const std::size_t shown = std::min<std::size_t>(silent.size(), 8);
  const Error of_rank = error.with(fmt::format(
      "rank {}: {} (ended with it: rank{} {}{})", rank, error.message(), silent.size() == 1 ? "" : "s",
      fmt::join(silent.begin(), silent.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < silent.size() ? ", ..." : ""));
  print_error(fmt::format("mylos: {}", of_rank.what()));
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
  return error.code();
}

}  // namespace

ExitCode reporting_errors(const std::function<ExitCode()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    return report(Error(ExitCode::failed, errors::out_of_memory,
                        "out of memory; a smaller data.micro_batch or more ranks need less"));
  } catch (const std::exception& error) {
    return report(Error::of(error));
  }
}

int run_alone(const std::function<ExitCode()>& command) {
  const ExitCode code = reporting_errors([&] {
    const ExitCode done = command();
    flush_standard_output();
    return done;
  });
  return static_cast<int>(code);
}

namespace {

bool has_succeeded(ExitCode code) {
  return code == ExitCode::done || code == ExitCode::requeue;
}

/// Disables Open MPI's daemon in a process without a launcher, which does not need it. Without the daemon all
/// such processes are job 0 and would share its folder in /tmp, which the first one to end would remove; so
/// the folder is disabled too. Other MPI libraries do not read these variables.
void start_in_isolation() {
  if (was_launched()) return;
  if (setenv("OMPI_MCA_ess_singleton_isolated", "1", 0) != 0) return;
  if (std::string_view(std::getenv("OMPI_MCA_ess_singleton_isolated")) == "1")
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

/// Called after the command has ended or thrown: Kokkos is no longer in use.
void end_kokkos() {
  if (Kokkos::is_initialized()) Kokkos::finalize();
}

}  // namespace

int run_without_mpi(const std::function<ExitCode()>& command) {
  const int code = run_alone(command);
  keep_exit_code(code);
  end_kokkos();
  return code;
}

int run_with_mpi(int argument_count, char** arguments, const std::function<ExitCode()>& command) {
  start_in_isolation();
  // The main thread makes no MPI call while a communicator's thread exchanges gradients; background readers
  // and writers make none.
  {
    const BlockingCall call("MPI_Init", CommunicationOptions{}.timeout_s);
    int provided = 0;
    MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_SERIALIZED, &provided);
  }
  const int code = run_alone([&] {
    const ExitCode done = command();
    if (has_succeeded(done)) ranks_of_start().barrier();  // a rank that does not come is named here
    return done;
  });
  keep_exit_code(code);
  end_kokkos();
  {
    // After an error that was reported a rank may still bring a checkpoint to its end, for as long as its
    // disk takes.
    std::optional<BlockingCall> call;
    if (has_succeeded(static_cast<ExitCode>(code)))
      call.emplace("MPI_Finalize", communication_of_start().timeout_s);
    leave_start();
    MPI_Finalize();
  }
  keep_exit_code(code);  // MPI may have put back handlers of its own
  return code;
}

namespace {

/// Kokkos' variables for the choice of a device. They override our choice.
bool kokkos_was_told_the_device() {
  return std::getenv("KOKKOS_DEVICE_ID") != nullptr || std::getenv("KOKKOS_VISIBLE_DEVICES") != nullptr ||
         std::getenv("KOKKOS_MAP_DEVICE_ID_BY") != nullptr;
}

}  // namespace

KokkosRuntime::KokkosRuntime(int threads, int planned_ranks) {
  RankGroup& ranks = ranks_of_start();
  std::optional<DeviceSurvey> survey;
  run_on_all(ranks, [&] {
    survey = survey_devices();
    if (survey) require_devices(*survey);
  });
  RankPlacement own = placement_of_process(ranks, survey);
  placement_ = gather(ranks, own);
  const char* variable = std::getenv("OMP_NUM_THREADS");
  own.chosen_threads = !asks_for_threads(threads, variable);
  run_on_all(ranks, [&] {
    own.threads = thread_count(threads, variable, core_share(placement_, ranks.rank()), planned_ranks);
  });
#ifdef KOKKOS_ENABLE_OPENMP
  // Kokkos first starts this number of threads, as if it were OMP_NUM_THREADS.
  omp_set_num_threads(own.threads);
#endif
  Kokkos::InitializationSettings settings;
  settings.set_num_threads(own.threads);
  settings.set_disable_warnings(true);  // about OMP_PROC_BIND, which mpirun's binding replaces
  if (own.devices > 0 && !kokkos_was_told_the_device())
    settings.set_device_id(device_of(placement_, ranks.rank()));
  Kokkos::initialize(settings);
  own.device = own_device();
  placement_ = gather(ranks, own);
}

std::vector<std::string> KokkosRuntime::advice(bool reproducible) const {
  return placement_advice(placement_, reproducible);
}

std::string KokkosRuntime::table() const {
  return placement_table(placement_);
}

}  // namespace mylos::app
