// WritingGroup: the ranks that write one file together, or one process that writes alone and makes no MPI
// call (a background thread).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// The CRC-32 of a range of an array's elements.
struct PieceCrc {
  std::uint32_t array = 0;  // index in the state's arrays
  std::uint32_t crc = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class WritingGroup {
 public:
  /// Creates the group of these ranks; null: this process alone.
  explicit WritingGroup(RankGroup* ranks) : ranks_(ranks) {}

  [[nodiscard]] bool alone() const { return ranks_ == nullptr; }
  [[nodiscard]] int rank() const { return alone() ? 0 : ranks_->rank(); }
  [[nodiscard]] int size() const { return alone() ? 1 : ranks_->size(); }
  /// Runs a function of any duration on every rank. If it throws on one rank, it throws on all. It must not
  /// call MPI.
  void on_each(const std::function<void()>& function) const;
  /// Does the same on the first rank only.
  void on_first(const std::function<void()>& function) const;
  /// Returns the entries of all ranks, in any order; some have no elements.
  [[nodiscard]] std::vector<PieceCrc> gather(std::vector<PieceCrc> own) const;
  /// Returns the text of the first rank.
  [[nodiscard]] std::string agreed(const std::string& text) const;
  /// Replaces the numbers by those of the first rank. All ranks pass the same number of them.
  void agree(std::vector<std::int64_t>& numbers) const;

 private:
  RankGroup* ranks_;
};

}  // namespace mylos
