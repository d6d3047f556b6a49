// AsyncExchange: one asynchronous exchange of small data in host memory. Each rank joins when it reaches the
// exchange, and the exchange completes while the ranks do other work.
//
// It uses its own duplicate of the ranks' communicator, so that other exchanges do not interfere.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

class AsyncExchange {
 public:
  /// Duplicates the communicator. All ranks call this.
  explicit AsyncExchange(const RankGroup& ranks) : ranks_(ranks), group_(ranks.mpi(), ranks.timeout_s()) {}
  ~AsyncExchange();
  AsyncExchange(const AsyncExchange&) = delete;
  AsyncExchange& operator=(const AsyncExchange&) = delete;

  // The functions below throw Error while `ranks` is busy, because another thread may be calling MPI.

  /// Joins a broadcast: the bytes of rank 0 arrive on all ranks; on the others `data` gives their number. The
  /// previous exchange must have ended.
  void broadcast(std::vector<std::byte> data);
  /// Joins a gather: the bytes of all ranks arrive at rank 0, concatenated in rank order. Every rank passes
  /// the same number of bytes. On the other ranks it has ended once their bytes are sent.
  void gather(std::vector<std::byte> own);

  /// Returns whether the joined exchange has ended on this rank, without waiting. Call it repeatedly: each
  /// call makes progress.
  [[nodiscard]] bool ended();
  /// Returns the received bytes. Call it once, after ended() returned true.
  [[nodiscard]] std::vector<std::byte> take();

 private:
  void join(std::vector<std::byte> buffer);

  const RankGroup& ranks_;
  RankGroup group_;
  std::vector<std::byte> buffer_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool joined_ = false;
};

}  // namespace mylos
