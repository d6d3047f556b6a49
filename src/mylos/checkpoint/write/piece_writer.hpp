// PieceWriter: writes a checkpoint of a sharded state while the run continues. Rank 0 creates the file's
// structure, every rank writes its part from a copy, and after all have finished, rank 0 verifies and renames
// the file.
//
// One thread on each rank works on the file and makes no MPI call. Between steps the ranks exchange data
// asynchronously (the arrays' offsets; the checksums of the written pieces): no rank waits, but continues
// with its steps until the data has arrived.
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
  /// Allocates memory for a copy of this rank's part of `state`. All ranks call this. `ranks` must outlive
  /// the writer.
  PieceWriter(RankGroup& ranks, const CheckpointState& state);
  /// Waits for this rank's thread.
  ~PieceWriter();
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  /// Copies the state, starts writing and returns. All ranks call this, after wait().
  void begin(const std::string& folder, const CheckpointHeader& header, const CheckpointState& state,
             const CheckpointOptions& options);
  /// Advances the write. Each rank calls this repeatedly between steps. Returns, on rank 0, the outcome of a
  /// completed write, once.
  [[nodiscard]] std::optional<CheckpointOutcome> poll();
  /// Returns whether poll() may make progress: false while this rank's disk is at work, true also while
  /// another rank is awaited.
  [[nodiscard]] bool is_poll_due() const;
  /// Waits for a write in flight and returns its outcome on rank 0. All ranks call this.
  [[nodiscard]] std::optional<CheckpointOutcome> wait();

 private:
  struct Write;

  [[nodiscard]] bool is_any_busy();
  [[nodiscard]] std::optional<CheckpointOutcome> end();

  RankGroup& ranks_;
  AsyncExchange exchange_;
  StateCopy copy_;
  // The write in flight, from this rank's view. The last member, because its thread reads the others.
  std::unique_ptr<Write> write_;
};

}  // namespace mylos
