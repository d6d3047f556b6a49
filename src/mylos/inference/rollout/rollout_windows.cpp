#include "mylos/inference/rollout/rollout_windows.hpp"

#include <algorithm>
#include <limits>

namespace mylos {

RolloutWindows::RolloutWindows(const LevelLayout& layout, std::int64_t members, std::int64_t forecasts)
    : layout_(layout),
      points_(layout.points()),
      forecasts_(forecasts),
      inputs_(static_cast<std::size_t>(forecasts * members * points_ * layout.inputs())),
      level_(static_cast<std::size_t>(layout.level_values())) {}

std::size_t RolloutWindows::memory_bytes(const LevelLayout& layout, std::int64_t members,
                                         std::int64_t forecasts) {
  return static_cast<std::size_t>(forecasts * members * layout.points() * layout.inputs() +
                                  layout.level_values()) *
         sizeof(float);
}

float* RolloutWindows::at(std::int64_t window, std::int64_t point) {
  return inputs_.data() + (window * points_ + point) * layout_.inputs();
}

const float* RolloutWindows::at(std::int64_t window, std::int64_t point) const {
  return inputs_.data() + (window * points_ + point) * layout_.inputs();
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
  for (std::int64_t forecast = 1; forecast < forecasts_; ++forecast)
    std::copy_n(at(0, 0), count * points_ * layout_.inputs(), at(window_of(forecast, 0), 0));
}

void RolloutWindows::change_states(std::int64_t forecast, std::int64_t member,
                                   const std::function<void(std::size_t column, float& value)>& change) {
  float* inputs = at(window_of(forecast, member), 0);
  for (std::int64_t point = 0; point < points_; ++point) {
    for (std::int64_t slot = 0; slot < layout_.history; ++slot) {
      for (const std::int64_t channel : layout_.state) {
        if (channel < 0) continue;
        const std::int64_t column = point * layout_.inputs() + slot * layout_.channels + channel;
        change(static_cast<std::size_t>(column), inputs[column]);
      }
    }
  }
}

std::span<const float> RolloutWindows::inputs() const {
  return std::span(inputs_).first(static_cast<std::size_t>(forecasts_ * count_ * points_ * layout_.inputs()));
}

void RolloutWindows::advance(const Trajectories& from, std::int64_t step, std::span<const float> outputs,
                             bool is_last) {
  const std::int64_t width = layout_.channels + layout_.constants;
  const std::int64_t older = (layout_.history - 1) * layout_.channels;  // numbers that stay
  const auto state = static_cast<std::size_t>(layout_.outputs());
  std::vector<float> newest(static_cast<std::size_t>(layout_.channels));
  const bool reads = layout_.has_forcings() && !is_last;
  const auto advance_window = [&](std::int64_t window) {
    for (std::int64_t point = 0; point < points_; ++point) {
      float* inputs = at(window, point);
      std::copy_n(inputs + older, layout_.channels, newest.data());
      std::copy_n(inputs + layout_.channels, older, inputs);
      float* next = inputs + older;
      std::copy_n(reads ? level_.data() + point * width : newest.data(), layout_.channels, next);
      const float* values = outputs.data() + static_cast<std::size_t>(window * points_ + point) * state;
      const std::size_t first = static_cast<std::size_t>(point) * state;
      for (std::size_t i = 0; i < state; ++i) {
        if (layout_.state[i] < 0) continue;
        const auto channel = static_cast<std::size_t>(layout_.state[i]);
        const bool counts = layout_.counts(first + i);
        if (!layout_.known.empty() && layout_.known[i] >= 0) next[layout_.known[i]] = counts ? 1.0f : 0.0f;
        if (!counts) {
          next[channel] = 0;
          continue;
        }
        next[channel] = layout_.is_difference(i) ? newest[channel] + values[i] : values[i];
      }
    }
  };
  for (std::int64_t member = 0; member < count_; ++member) {
    if (reads) from.read_level(first_ + member, step * layout_.ahead, level_);
    for (std::int64_t forecast = 0; forecast < forecasts_; ++forecast)
      advance_window(window_of(forecast, member));
  }
}

void RolloutWindows::state(std::int64_t forecast, std::int64_t member, std::span<const float> outputs,
                           std::span<float> values) const {
  const std::int64_t newest = (layout_.history - 1) * layout_.channels;
  const auto first = static_cast<std::size_t>(window_of(forecast, member)) * values.size();
  std::size_t to = 0;
  for (std::int64_t point = 0; point < points_; ++point) {
    const float* level = at(window_of(forecast, member), point) + newest;
    for (const std::int64_t channel : layout_.state) {
      const auto diagnostic = [&] {
        if (!layout_.counts(to)) return 0.0f;
        return outputs.empty() ? std::numeric_limits<float>::quiet_NaN() : outputs[first + to];
      };
      values[to] = channel < 0 ? diagnostic() : level[channel];
      ++to;
    }
  }
}

}  // namespace mylos
