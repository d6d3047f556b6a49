// RanksEnergy: who of the ranks counts which joules, so that a node's processors and a device are counted
// once.
#pragma once

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/io/system/energy_counter.hpp"

namespace mylos {

class RanksEnergy {
 public:
  /// All ranks make it together. The first rank of a node counts its processors, the first of a device that.
  explicit RanksEnergy(RankGroup& ranks);

  /// Since construction, what this rank counts for others too; 0 where another one counts for it, NaN where
  /// the machine does not say. A sum over ranks is then all of the energy, or NaN.
  [[nodiscard]] double joules();
  /// What this rank counts: as EnergyCounter::what().
  [[nodiscard]] std::string what() const { return counter_ ? counter_->what() : ""; }

 private:
  std::optional<EnergyCounter> counter_;
};

}  // namespace mylos
