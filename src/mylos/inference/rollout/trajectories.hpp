// Trajectories: the levels that rollouts begin with, read on their way, and are compared with.
//
// A member is one rollout: a sample of the data and a time at which it begins. Levels are counted from the
// newest one that the member begins with: level 0; the state after step k is that of level k * ahead.
#pragma once

#include <cstdint>
#include <span>

#include "mylos/inference/rollout/level_layout.hpp"

namespace mylos {

class Trajectories {
 public:
  virtual ~Trajectories() = default;

  [[nodiscard]] virtual const LevelLayout& layout() const = 0;
  [[nodiscard]] virtual std::int64_t members() const = 0;
  /// Reads level `level` >= 1 - history of a member: [points, channels + constants], in the units of the
  /// data. Throws Error (bad_input) where it cannot be read.
  virtual void read_level(std::int64_t member, std::int64_t level, std::span<float> values) const = 0;
  /// Returns whether the state after `step` is known.
  [[nodiscard]] virtual bool has_truth(std::int64_t member, std::int64_t step) const = 0;
  /// Reads it: [points, outputs].
  virtual void read_truth(std::int64_t member, std::int64_t step, std::span<float> state) const = 0;
};

}  // namespace mylos
