// RankGroup: the ranks of a run, as a duplicate of the caller's MPI communicator. Every MPI code is checked
// and every wait ends: by completion, or by an Error when the other ranks do not come within the timeout.
//
// After such an Error the group is lost, and so is the run: other ranks may still send to it, and MPI may
// still read and write the buffers of what was given up, in any call that follows.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mylos/base/error.hpp"

namespace mylos {

/// A rank among those that share its memory.
struct NodePosition {
  int first = 0;  // the lowest rank there, which stands for the node
  int index = 0;  // of this rank, from 0 in the order of ranks
  int ranks = 1;
};

class RankGroup {
 public:
  /// Duplicates `parent`: all its ranks call this. `timeout_s`: seconds that a wait may last, this one
  /// included.
  RankGroup(MPI_Comm parent, double timeout_s);
  /// This process alone, also where MPI was never initialised: exchanges are copies, and there is no mpi().
  RankGroup() = default;
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Returns the communicator. Throws Error while the group is busy, once it is lost, and if it has no
  /// communicator.
  [[nodiscard]] MPI_Comm mpi() const;
  [[nodiscard]] double timeout_s() const { return timeout_s_; }
  /// Which ranks of the group are on this rank's node: those of one host name on one machine. All ranks call
  /// it.
  [[nodiscard]] NodePosition node_position();
  [[nodiscard]] int ranks_on_node() { return node_position().ranks; }

  /// Exchanges of small things in host memory (set-up, errors, files). All ranks call them; they may
  /// allocate. They throw Error while the group is busy.
  void broadcast(void* data, std::size_t bytes, int root);
  /// Rank r's `bytes` bytes at `own` arrive at `all` + r · bytes on every rank.
  void all_gather(const void* own, void* all, std::size_t bytes);
  void barrier();
  /// Each value becomes the sum of those of all ranks.
  void add_up(std::span<std::int64_t> values);

  /// Waits for operations on mpi(). After a failure or a timeout the group is lost, by an Error that names
  /// operation, rank and seconds.
  void wait(std::span<MPI_Request> requests, std::string_view operation);
  void wait(MPI_Request& request, std::string_view operation) { wait({&request, 1}, operation); }
  /// Throws Error with MPI's own text unless `code` is MPI_SUCCESS.
  void check(int code, std::string_view operation) const;
  /// Throws the Error by which the group was lost, if it was: what follows has no cause of its own.
  void require_usable() const;
  /// The same, and throws Error while the group is busy.
  void require_idle() const;
  /// The Error of a wait that was too long.
  [[nodiscard]] Error late(std::string_view operation, double waited_s) const;
  /// The group is lost by this error. What was given up has a last second to end, while its buffers live.
  void lose(const Error& error);
  /// While operations that somebody else makes on mpi() are in flight, another thread may be calling MPI, and
  /// while NCCL's are, the ranks may wait for each other in another order: the group exchanges nothing
  /// itself. `operation`: what error messages name.
  void mark_busy(const char* operation) { busy_with_ = operation; }
  void mark_idle() { busy_with_ = nullptr; }
  /// Gives up on an operation in flight: the group then leaves its communicator to MPI.
  void abandon(MPI_Request& request);
  /// Whether MPI may still write to the buffers of something that was given up.
  [[nodiscard]] bool has_abandoned() const { return !abandoned_.empty(); }

 private:
  void poll(MPI_Request& request, std::string_view operation) const;
  void drain();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  double timeout_s_ = 0;
  std::optional<Error> lost_;
  const char* busy_with_ = nullptr;
  std::vector<MPI_Request> abandoned_;
  std::vector<std::byte> exchange_;  // what MPI reads and writes in place of the caller's memory
};

}  // namespace mylos
