#include "mylos/data/run/rollout_feedback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

/// The scaling of a channel: normalised = (value - shift) * scale.
struct ChannelScaling {
  double shift = 0;
  double scale = 1;

  bool operator==(const ChannelScaling&) const = default;
};

/// Returns that of a column; without normalisation the identity.
ChannelScaling scaling_of(const ColumnScaling& columns, std::int64_t column) {
  if (columns.identity()) return {};
  const auto i = static_cast<std::size_t>(column);
  return {columns.shift[i], columns.scale[i]};
}

/// Returns that of a channel, which all points share, but for those that a mask [points, channels] leaves
/// out.
ChannelScaling shared_scaling(const ColumnScaling& columns, std::int64_t points, std::int64_t channels,
                              std::int64_t channel, std::span<const std::uint8_t> mask) {
  std::optional<ChannelScaling> first;
  for (std::int64_t point = 0; point < points; ++point) {
    const std::int64_t column = point * channels + channel;
    if (!mask.empty() && mask[static_cast<std::size_t>(column)] == 0) continue;
    const ChannelScaling scaling = scaling_of(columns, column);
    if (!first) first = scaling;
    if (scaling == *first) continue;
    fail_input(errors::keys_conflict,
               "rollout: data.normalize scales each point of channel {} differently, and an output would not "
               "have the scale of the next input; use data.normalize = \"channel\"",
               channel);
  }
  return first.value_or(ChannelScaling{});
}

}  // namespace

FeedbackMap feedback_map(const RolloutLayout& layout) {
  if (layout.ahead > 1 && layout.history > 1) {
    fail_input(errors::keys_conflict,
               "rollout: a step of data.arrays.ahead = {} levels does not give the levels between, which "
               "data.arrays.history = {} reads; set one of the two to 1",
               layout.ahead, layout.history);
  }
  if (std::ranges::none_of(layout.state, [](std::int64_t channel) { return channel >= 0; })) {
    fail_input(
        errors::keys_conflict,
        "rollout: no target is an input, so that no output would be fed back; add the arrays of states to "
        "data.arrays.inputs");
  }
  FeedbackMap map{.points = layout.points,
                  .steps = layout.steps,
                  .row_channels = layout.sample_inputs(),
                  .output_channels = layout.target_channels()};
  map.inputs.resize(static_cast<std::size_t>(layout.network_inputs()));
  const auto input = [&map](std::int64_t channel) -> FeedbackChannel& {
    return map.inputs[static_cast<std::size_t>(channel)];
  };
  for (std::int64_t c = 0; c < layout.newest(); ++c) input(c).previous = c + layout.level_channels;
  for (std::int64_t f = 0; f < layout.forcing_channels(); ++f) {
    FeedbackChannel& forcing = input(layout.newest() + layout.forcing[static_cast<std::size_t>(f)]);
    forcing.row = layout.network_inputs() + f;
    forcing.row_step = layout.forcing_channels();
  }
  for (std::int64_t c = layout.newest() + layout.level_channels; c < layout.network_inputs(); ++c)
    input(c).row = c;  // constants
  for (std::int64_t target = 0; target < layout.target_channels(); ++target) {
    const std::int64_t channel = layout.state[static_cast<std::size_t>(target)];
    if (channel < 0) continue;  // a diagnostic
    FeedbackChannel& newest = input(layout.newest() + channel);
    newest.output = target;
    if (!layout.adds_newest.empty() && layout.adds_newest[static_cast<std::size_t>(target)] != 0)
      newest.previous = layout.newest() + channel;
    for (std::int64_t level = 0; level < layout.history; ++level)
      input(level * layout.level_channels + channel).is_state = true;
  }
  return map;
}

std::vector<FeedbackScaling> feedback_scalings(const Normalizer& normalizer, const FeedbackMap& map) {
  std::vector<FeedbackScaling> scalings(map.inputs.size());
  for (std::int64_t c = 0; c < map.input_channels(); ++c) {
    const FeedbackChannel& channel = map.inputs[static_cast<std::size_t>(c)];
    if (channel.output < 0) continue;
    const ChannelScaling in =
        shared_scaling(normalizer.inputs, map.points, map.input_channels(), c, map.counts);
    const ChannelScaling out =
        shared_scaling(normalizer.targets, map.points, map.output_channels, channel.output, {});
    const bool is_difference = channel.previous >= 0;
    const double shift = is_difference ? out.shift : out.shift - in.shift;
    scalings[static_cast<std::size_t>(c)] = {static_cast<float>(in.scale / out.scale),
                                             static_cast<float>(shift * in.scale)};
  }
  return scalings;
}

}  // namespace mylos
