#include "mylos/inference/rollout/rollout_windows.hpp"

#include <algorithm>

namespace mylos {

RolloutWindows::RolloutWindows(const LevelLayout& layout, std::int64_t members)
    : layout_(layout),
      points_(layout.points()),
      inputs_(static_cast<std::size_t>(members * points_ * layout.inputs())),
      level_(static_cast<std::size_t>(layout.level_values())) {}

std::size_t RolloutWindows::memory_bytes(const LevelLayout& layout, std::int64_t members) {
  return static_cast<std::size_t>(members * layout.points() * layout.inputs() + layout.level_values()) *
         sizeof(float);
}

float* RolloutWindows::at(std::int64_t member, std::int64_t point) {
  return inputs_.data() + (member * points_ + point) * layout_.inputs();
}

const float* RolloutWindows::at(std::int64_t member, std::int64_t point) const {
  return inputs_.data() + (member * points_ + point) * layout_.inputs();
}

void RolloutWindows::start(const Trajectories& from, std::int64_t first, std::int64_t count) {
  first_ = first;
  count_ = count;
  const std::int64_t width = layout_.channels + layout_.constants;
  for (std::int64_t member = 0; member < count; ++member) {
    for (std::int64_t slot = 0; slot < layout_.history; ++slot) {
      from.read_level(first + member, slot + 1 - layout_.history, level_);
      for (std::int64_t point = 0; point < points_; ++point) {
        const float* level = level_.data() + point * width;
        float* inputs = at(member, point);
        std::copy_n(level, layout_.channels, inputs + slot * layout_.channels);
        std::copy_n(level + layout_.channels, layout_.constants, inputs + layout_.history * layout_.channels);
      }
    }
  }
}

std::span<const float> RolloutWindows::inputs() const {
  return std::span(inputs_).first(static_cast<std::size_t>(count_ * points_ * layout_.inputs()));
}

void RolloutWindows::advance(const Trajectories& from, std::int64_t step, std::span<const float> outputs,
                             bool is_last) {
  const std::int64_t width = layout_.channels + layout_.constants;
  const std::int64_t older = (layout_.history - 1) * layout_.channels;  // numbers that stay
  const auto state = static_cast<std::size_t>(layout_.outputs());
  std::vector<float> newest(static_cast<std::size_t>(layout_.channels));
  const bool reads = layout_.has_forcings() && !is_last;
  for (std::int64_t member = 0; member < count_; ++member) {
    if (reads) from.read_level(first_ + member, step * layout_.ahead, level_);
    for (std::int64_t point = 0; point < points_; ++point) {
      float* inputs = at(member, point);
      std::copy_n(inputs + older, layout_.channels, newest.data());
      std::copy_n(inputs + layout_.channels, older, inputs);
      float* next = inputs + older;
      std::copy_n(reads ? level_.data() + point * width : newest.data(), layout_.channels, next);
      const float* values = outputs.data() + static_cast<std::size_t>(member * points_ + point) * state;
      const std::size_t first = static_cast<std::size_t>(point) * state;
      for (std::size_t i = 0; i < state; ++i) {
        const auto channel = static_cast<std::size_t>(layout_.state[i]);
        if (!layout_.counts(first + i)) {
          next[channel] = 0;
          continue;
        }
        next[channel] = layout_.adds_newest ? newest[channel] + values[i] : values[i];
      }
    }
  }
}

void RolloutWindows::state(std::int64_t member, std::span<float> values) const {
  const std::int64_t newest = (layout_.history - 1) * layout_.channels;
  std::size_t to = 0;
  for (std::int64_t point = 0; point < points_; ++point) {
    const float* level = at(member, point) + newest;
    for (const std::int64_t channel : layout_.state) values[to++] = level[channel];
  }
}

}  // namespace mylos
