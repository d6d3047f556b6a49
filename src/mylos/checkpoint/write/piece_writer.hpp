// PieceWriter: writes a checkpoint whose state is cut over ranks while the run goes on. Rank 0 lays the file
// out, every rank writes what it holds from a copy of its own, and when all have, rank 0 verifies the file
// and gives it its name.
//
// Files are worked on by threads, one on each rank, which make no MPI call. What the ranks tell one another
// (where the arrays lie; the checksums of what each has written) travels between steps, and no rank waits: it
// goes on with its steps until it finds that it has arrived.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mylos/checkpoint/file/outcome.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/checkpoint/write/state_copy.hpp"
#include "mylos/comm/group/async_exchange.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

class PieceWriter {
 public:
  /// All ranks call this. Takes the memory of a copy of what this rank writes of `state`. `ranks` must
  /// outlive the writer.
  PieceWriter(RankGroup& ranks, const CheckpointState& state);
  /// Waits for this rank's thread.
  ~PieceWriter();
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  /// All ranks, after wait(). Copies the state and returns.
  void begin(const std::string& folder, const CheckpointHeader& header, const CheckpointState& state,
             const CheckpointOptions& options);
  /// Any rank, between steps, now and then: moves the write on. On rank 0 the outcome of one that has ended,
  /// once.
  [[nodiscard]] std::optional<CheckpointOutcome> poll();
  /// Whether poll() would find more than this rank's disk at work. Also as long as another rank's is waited
  /// for.
  [[nodiscard]] bool wants_look() const;
  /// All ranks. The same, after waiting for a write in flight.
  [[nodiscard]] std::optional<CheckpointOutcome> wait();

 private:
  struct Write;

  [[nodiscard]] bool is_any_busy();
  [[nodiscard]] std::optional<CheckpointOutcome> end();

  RankGroup& ranks_;
  AsyncExchange exchange_;
  StateCopy copy_;
  std::unique_ptr<Write> write_;  // in flight, as far as this rank knows; last: its thread reads the others
};

}  // namespace mylos
