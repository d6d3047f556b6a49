// RolloutWindows: the inputs of a network that is applied to its own outputs, for several members.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/inference/rollout/trajectories.hpp"

namespace mylos {

class RolloutWindows {
 public:
  /// For at most `members` members. `layout` must outlive the object.
  RolloutWindows(const LevelLayout& layout, std::int64_t members);

  /// Reads what members [first, first + count) begin with.
  void start(const Trajectories& from, std::int64_t first, std::int64_t count);
  /// The inputs of the network: [members, points, inputs], of a layout whose points are samples [members *
  /// points, inputs].
  [[nodiscard]] std::span<const float> inputs() const;
  /// Makes one step with the outputs [members, points, outputs] of these inputs. Reads the forcings of step
  /// `step`, counted from 1, from the data, unless `is_last`: no step follows that would read them.
  void advance(const Trajectories& from, std::int64_t step, std::span<const float> outputs, bool is_last);
  /// Writes the state [points, outputs] of a member, counted from the first one that was started.
  void state(std::int64_t member, std::span<float> values) const;

  [[nodiscard]] static std::size_t memory_bytes(const LevelLayout& layout, std::int64_t members);

 private:
  /// The inputs of one point.
  [[nodiscard]] float* at(std::int64_t member, std::int64_t point);
  [[nodiscard]] const float* at(std::int64_t member, std::int64_t point) const;

  const LevelLayout& layout_;
  std::int64_t points_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  std::vector<float> inputs_;
  std::vector<float> level_;  // as it is read
};

}  // namespace mylos
