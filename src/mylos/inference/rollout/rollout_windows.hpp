// RolloutWindows: the inputs of networks that are applied to their own outputs, for several members, each of
// which may be predicted by several forecasts: they begin with the same levels and read the same forcings.
//
// Windows lie in memory as [forecasts, members], so that those of a network follow each other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mylos/inference/rollout/trajectories.hpp"

namespace mylos {

class RolloutWindows {
 public:
  /// For at most `members` members. `layout` must outlive the object.
  RolloutWindows(const LevelLayout& layout, std::int64_t members, std::int64_t forecasts = 1);

  /// Reads what members [first, first + count) begin with.
  void start(const Trajectories& from, std::int64_t first, std::int64_t count);
  /// Calls change(column, value) for each number of a window that is of the state, at all of its levels; its
  /// column is that in the network's row of a sample.
  void change_states(std::int64_t forecast, std::int64_t member,
                     const std::function<void(std::size_t column, float& value)>& change);
  /// The inputs of a network: [forecasts, members, points, inputs], of a layout whose points are samples
  /// [forecasts * members * points, inputs].
  [[nodiscard]] std::span<const float> inputs() const;
  /// Makes one step with the outputs [forecasts, members, points, outputs] of these inputs. Reads the
  /// forcings of step `step`, counted from 1, from the data, unless `is_last`: no step follows that would
  /// read them.
  void advance(const Trajectories& from, std::int64_t step, std::span<const float> outputs, bool is_last);
  /// Writes the state [points, outputs] of a forecast of a member, counted from the first one that was
  /// started, with the diagnostics among the outputs of the last step; NaN where `outputs` is empty.
  void state(std::int64_t forecast, std::int64_t member, std::span<const float> outputs,
             std::span<float> values) const;

  [[nodiscard]] static std::size_t memory_bytes(const LevelLayout& layout, std::int64_t members,
                                                std::int64_t forecasts = 1);

 private:
  /// The inputs of one point of a window.
  [[nodiscard]] float* at(std::int64_t window, std::int64_t point);
  [[nodiscard]] const float* at(std::int64_t window, std::int64_t point) const;
  [[nodiscard]] std::int64_t window_of(std::int64_t forecast, std::int64_t member) const {
    return forecast * count_ + member;
  }

  const LevelLayout& layout_;
  std::int64_t points_;
  std::int64_t forecasts_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  std::vector<float> inputs_;
  std::vector<float> level_;  // as it is read
};

}  // namespace mylos
