// LaterExchange: one exchange of small things in host memory that ranks join when they get there, and that
// ends while they do something else.
//
// It has a duplicate of the ranks' communicator of its own: what else they exchange meanwhile does not meet
// it.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

class LaterExchange {
 public:
  /// All ranks call this.
  explicit LaterExchange(const RankGroup& ranks) : ranks_(ranks), group_(ranks.mpi(), ranks.timeout_s()) {}
  ~LaterExchange();
  LaterExchange(const LaterExchange&) = delete;
  LaterExchange& operator=(const LaterExchange&) = delete;

  // What follows throws Error while `ranks` are lent: another thread may be calling MPI.

  /// This rank joins: `data` are the bytes of rank 0, which arrive at all. The exchange before has ended.
  void broadcast(std::vector<std::byte> data);
  /// This rank joins: the bytes of all ranks, of each as many, arrive at rank 0, one behind the other. On the
  /// others it has ended once theirs are under way.
  void gather(std::vector<std::byte> own);

  [[nodiscard]] bool joined() const { return joined_; }
  /// Whether what was joined has ended here, without waiting. Call it now and then: that moves it on.
  [[nodiscard]] bool ended();
  /// What arrived; once, after ended().
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
