// WritingGroup: the ranks that write one file together, or one process that writes alone and makes no MPI
// call (a thread beside the training loop).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// CRC-32 of some elements of an array.
struct PieceCrc {
  std::uint32_t array = 0;  // by the state's arrays
  std::uint32_t crc = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class WritingGroup {
 public:
  /// Null: this process alone.
  explicit WritingGroup(RankGroup* ranks) : ranks_(ranks) {}

  [[nodiscard]] bool alone() const { return ranks_ == nullptr; }
  [[nodiscard]] int rank() const { return alone() ? 0 : ranks_->rank(); }
  [[nodiscard]] int size() const { return alone() ? 1 : ranks_->size(); }
  /// On every rank, however long it takes on one of them. What it throws on one is thrown on all. No MPI in
  /// it.
  void on_each(const std::function<void()>& function) const;
  /// On the first rank alone, likewise.
  void on_first(const std::function<void()>& function) const;
  /// Those of all ranks, in any order, and some of no elements.
  [[nodiscard]] std::vector<PieceCrc> gather(std::vector<PieceCrc> own) const;
  /// The first rank's.
  [[nodiscard]] std::string agreed(const std::string& text) const;
  /// The first rank's, of which there are as many on all.
  void agree(std::vector<std::int64_t>& numbers) const;

 private:
  RankGroup* ranks_;
};

}  // namespace mylos
