// The shares of a machine's memory: of a rank, of the ranks of several runs, and of the parts of a run.
//
// A rank's budget includes its process and all that it allocates; on a device, what it allocates there. Every
// limit on memory is determined here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/device/memory_entry.hpp"

namespace mylos {

/// The processes of a run.
struct RunProcesses {
  int ranks_on_node = 1;
  std::size_t process_bytes = 0;  // of one rank's process after start-up
};

/// Returns the memory of this process as all commands count it in RunProcesses. How many pages of the program
/// and its libraries are in memory differs between starts of the same command by more than a MiB; up to a
/// number that usual builds stay below, they count as that.
[[nodiscard]] std::size_t process_memory();

/// Bound of the difference in size between processes of different starts, from library pages that happen to
/// be in memory and from code that was executed before. Observed: 1.5 MiB.
inline constexpr std::size_t start_spread = std::size_t{3} << 20;

/// The growth of the process during the run, besides the stated memory: pages of libraries, code that oneDNN
/// generates for GEMMs, stacks of threads, buffers of MPI and HDF5, the history. Observed: 3 to 13 MiB, where
/// oneDNN's bfloat16 kernels for GPTs take the most. The rest is for other processors, and for a process that
/// is larger after start-up than that of `mylos plan`.
inline constexpr std::size_t library_reserve = std::size_t{20} << 20;

inline constexpr const char* process_name = "process after start-up";
inline constexpr const char* library_name = "libraries while running";

/// Returns the memory of a rank's process, by these names.
[[nodiscard]] PartMemory process_entries(const RunProcesses& processes);

/// What a rank's libraries may take on a device during steps, which no call states in advance: code of
/// kernels, which CUDA loads when it first launches them and cuDNN compiles for the shapes of the first step,
/// and CUDA graphs.
inline constexpr std::size_t device_library_reserve = std::size_t{64} << 20;

/// Of what is left: the rest is for other programs and for what the system itself needs to work well.
inline constexpr double share_of_memory = 0.9;

/// Returns the budget of a rank: `given` bytes (memory.budget), or for 0 this machine's memory for each of
/// `processes.ranks_on_node` ranks: share_of_memory of what is left, this process included. `started`: ranks
/// of this node that run already, and whose memory is no longer left.
[[nodiscard]] std::size_t rank_budget(std::int64_t given, const RunProcesses& processes, int started);
/// Returns the budget of one rank on a device of `device_bytes` bytes that nothing else uses.
[[nodiscard]] std::size_t device_budget(std::int64_t given, std::int64_t device_bytes);

/// The part of a node's memory that ranks of a run may use while ranks of other runs use the rest.
struct NodeShare {
  int ranks_on_node = 1;         // of all these runs
  std::size_t budget_bytes = 0;  // of a rank; measured before any of the runs took memory

  /// Returns the budget of a rank; `given` as in rank_budget().
  [[nodiscard]] std::size_t budget(std::int64_t given) const;
  /// Returns the bytes of a rank if one of the runs, of `ranks` ranks, has the node for itself.
  [[nodiscard]] std::size_t undivided(int ranks) const;
};

/// Returns what the reader of training data may take to hold tokens in memory, which spares it the file: an
/// eighth of the budget, the rest of which is for the network. A device's budget does not include the host.
[[nodiscard]] std::int64_t token_share(std::size_t budget, const RunProcesses& processes);

/// Returns what was left of the host when this process first asked: arrays whose cache a plan has counted are
/// not refused when the run opens them again.
[[nodiscard]] std::int64_t initial_host_memory();
/// Returns what the cache of a reader of arrays may take of it.
[[nodiscard]] constexpr std::int64_t cache_share(std::int64_t initial) {
  return initial / 2;
}

/// Returns what a rank without a plan may take: all that is left of the device, or its part of the host.
[[nodiscard]] std::int64_t free_memory_of_rank(int ranks_on_node = 1);

}  // namespace mylos
