// RolloutClimatology: what is usual at each point, with which a rollout is compared: one field for all times,
// or one for each day of the year on which it has a truth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "commands.hpp"
#include "commands/rollout_data.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos::app {

class RolloutClimatology {
 public:
  /// All ranks. Reads what --climatology names, which is not empty. Rank 0 reads the files. Throws Error
  /// (bad_input) on all ranks: where they lie on another grid than the starts or are of another calendar than
  /// the truth by which days are found, a day has no field, times are not known that are needed, or memory is
  /// too small. `rollouts`: the bytes that those will take beside it.
  RolloutClimatology(RankGroup& ranks, const StoredNetwork& network, const RolloutData& data,
                     const RolloutArguments& arguments, std::size_t rollouts);

  /// Returns the field [points, outputs] at the time of the truth after a step; empty where there is none.
  [[nodiscard]] std::span<const float> at(std::int64_t member, std::int64_t step) const;

 private:
  std::int64_t steps_;
  std::size_t values_;
  std::vector<float> fields_;           // [fields, points, outputs]
  std::vector<std::int64_t> field_of_;  // [members, steps]; -1: no truth. Empty: one field is of all times
};

}  // namespace mylos::app
