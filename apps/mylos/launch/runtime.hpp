// Starts and ends MPI and Kokkos around a command, and prints its errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/placement.hpp"
#include "mylos/base/error.hpp"

namespace mylos::app {

/// Runs `command` between MPI_Init and MPI_Finalize. An Error that all ranks throw is printed once, by rank
/// 0; an Error of a single rank is printed by that rank and ends all ranks. Returns the exit code. After that
/// no code of ours runs, and a crash of a library that shuts down does not change the code.
int run_with_mpi(int argument_count, char** arguments, const std::function<ExitCode()>& command);
/// The same for a single process, without MPI.
int run_without_mpi(const std::function<ExitCode()>& command);
/// The same for a part of a command: libraries stay initialised.
int run_alone(const std::function<ExitCode()>& command);

/// Runs `work`; an exception becomes a message and an exit code as above. For objects that must outlive the
/// message: ranks wait only seconds for each other before they consider one lost.
ExitCode reporting_errors(const std::function<ExitCode()>& work);

/// Kokkos, from its construction to the end of the command, with the threads and the device of this rank. All
/// ranks of the start construct it together. `threads`: 0 = OMP_NUM_THREADS, or else the cores that this rank
/// may use divided by the ranks that share them, or by `planned_ranks` if those are more. The ranks of a node
/// use its devices in order. Throws Error (bad_input) on all ranks if OMP_NUM_THREADS is not a valid number,
/// and if this build is for devices that the machine lacks.
class KokkosRuntime {
 public:
  explicit KokkosRuntime(int threads, int planned_ranks = 1);
  /// Warnings if ranks, threads and devices do not fit the nodes, or a `reproducible` run.
  [[nodiscard]] std::vector<std::string> advice(bool reproducible = false) const;
  /// The placement of each rank, in lines that begin with "#".
  [[nodiscard]] std::string table() const;

 private:
  Placement placement_;
};

}  // namespace mylos::app
