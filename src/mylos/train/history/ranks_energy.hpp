// RanksEnergy: assigns the counting of energy to ranks, so that each node's processors and each device are
// counted once.
#pragma once

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/io/system/energy_counter.hpp"

namespace mylos {

class RanksEnergy {
 public:
  /// Assigns the counters: the first rank of a node counts its processors, the first rank of a device counts
  /// the device. All ranks must call it together.
  explicit RanksEnergy(RankGroup& ranks);

  /// Returns the joules that this rank has counted since construction, including the energy of ranks that it
  /// counts for. Returns 0 if another rank counts for this one, and NaN if the machine reports no energy.
  /// The sum over ranks is therefore the total energy, or NaN.
  [[nodiscard]] double joules();
  /// Returns what this rank counts, as EnergyCounter::what() does.
  [[nodiscard]] std::string what() const { return counter_ ? counter_->what() : ""; }

 private:
  std::optional<EnergyCounter> counter_;
};

}  // namespace mylos
