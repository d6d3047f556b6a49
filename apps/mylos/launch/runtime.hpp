// MPI and Kokkos around a command, and how its errors reach the user.
#pragma once

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <functional>

#include "launch/placement.hpp"
#include "mylos/base/error.hpp"

namespace mylos::app {

/// Runs `command` between MPI_Init and MPI_Finalize. An Error that all ranks throw is printed once, by rank
/// 0; one that a rank throws alone is printed by that rank and ends all of them. Returns the exit code. Then
/// nothing of ours runs any more, and no crash of a library that shuts down changes that code.
int run_with_mpi(int argument_count, char** arguments, const std::function<ExitCode()>& command);
/// The same of a process alone, and no word to MPI.
int run_without_mpi(const std::function<ExitCode()>& command);
/// The same of a part of a command: libraries go on.
int run_alone(const std::function<ExitCode()>& command);

/// Runs `work`; an exception becomes a message and an exit code as above. For what must outlive the message:
/// the ranks wait only seconds for each other before they take one for lost.
ExitCode reporting_errors(const std::function<ExitCode()>& work);

/// Kokkos, from its construction to the end of the command, by the threads and the device of this rank. All
/// ranks of the start make it together. `threads`: 0 = OMP_NUM_THREADS, or else the cores that this rank may
/// use divided by the ranks that share them, or by `planned_ranks` where those are more. Of its node's
/// devices a rank takes the next one in turn. Throws Error (bad_input) on all ranks where OMP_NUM_THREADS is
/// no such number, and where this build is for devices that are not here.
class KokkosRuntime {
 public:
  explicit KokkosRuntime(int threads, int planned_ranks = 1);
  /// Lines for the user where ranks, threads and devices do not fit the nodes, or a run that is to be
  /// `reproducible`.
  [[nodiscard]] std::vector<std::string> advice(bool reproducible = false) const;
  /// Where each rank runs, in lines that begin with "#".
  [[nodiscard]] std::string table() const;

 private:
  Placement placement_;
};

}  // namespace mylos::app
