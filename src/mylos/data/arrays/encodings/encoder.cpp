#include "mylos/data/arrays/encodings/encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos {
namespace {

constexpr double full_turn = 2 * std::numbers::pi;
constexpr double hours_of_day = 24;
constexpr double degrees_of_turn = 360;

float wave(bool is_cosine, double turns) {
  const double angle = full_turn * turns;
  return static_cast<float>(is_cosine ? std::cos(angle) : std::sin(angle));
}

float value_at(const EncodedChannel& channel, const CfDate& date) {
  const bool is_of_day = channel.of == Encoding::hour;
  return wave(channel.is_cosine, is_of_day ? date.hour / hours_of_day : date.year_fraction);
}

}  // namespace

std::vector<EncodedChannel> encoded_channels(const std::vector<Encoding>& encodings, bool of_time) {
  std::vector<EncodedChannel> channels;
  for (const Encoding encoding : encodings) {
    if (is_of_time(encoding) != of_time) continue;
    channels.push_back({encoding, false});
    if (encoding != Encoding::latitude) channels.push_back({encoding, true});
  }
  return channels;
}

std::string name_of(const EncodedChannel& channel) {
  return fmt::format("{}({})", channel.is_cosine ? "cos" : "sin", name_of(channel.of));
}

bool encodes_places(const ArrayOptions& options) {
  return !std::ranges::all_of(options.encodings, is_of_time);
}

void require_times(const std::vector<Encoding>& encodings, const LevelTimes& times, const std::string& path) {
  const auto needs = std::ranges::find_if(encodings, is_of_time);
  if (needs == encodings.end() || times.are_known()) return;
  fail_input(
      errors::data_mismatch,
      "{}: data.arrays.encodings has \"{}\", but the file states no time of each level; expected "
      "coordinates of the axis \"time\" (a dimension scale) whose units are \"days since 1950-01-01\", "
      "or hours, minutes or seconds since a date",
      path, name_of(*needs));
}

Encoder::Encoder(const std::vector<EncodedSource>& sources, const GridAxes& axes,
                 const std::vector<std::int64_t>& extents, const std::string& path) {
  for (const EncodedSource& source : sources) {
    const Encoding encoding = source.channel.of;
    if (is_of_time(encoding)) {
      of_time_.push_back(source);
      continue;
    }
    const bool is_latitude = encoding == Encoding::latitude;
    const std::optional<std::size_t> axis = is_latitude ? latitude_axis(axes) : longitude_axis(axes);
    const auto is_known = [](double value) { return std::isfinite(value); };
    if (!axis || !std::ranges::all_of(axes[*axis].values, is_known)) {
      fail_input(
          errors::data_mismatch,
          "{}: data.arrays.encodings has \"{}\", but no axis of the grid has coordinates in {} for each "
          "of its points",
          path, name_of(encoding), is_latitude ? "degrees_north" : "degrees_east");
    }
    AlongAxis channel{.channel = source.first};
    for (std::size_t k = *axis + 1; k < extents.size(); ++k) channel.stride *= extents[k];
    for (const double degrees : axes[*axis].values)
      channel.values.push_back(wave(source.channel.is_cosine, degrees / degrees_of_turn));
    of_places_.push_back(std::move(channel));
  }
}

void Encoder::write(const LevelTimes& times, std::int64_t level, double step_ms, std::int64_t first,
                    std::int64_t count, std::int64_t channels, float* to) const {
  for (const EncodedSource& source : of_time_) {
    const CfDate date = date_of(times.calendar, times.at(level + source.level, step_ms));
    const float value = value_at(source.channel, date);
    for (std::int64_t point = 0; point < count; ++point) to[point * channels + source.first] = value;
  }
  for (const AlongAxis& along : of_places_) {
    const auto extent = static_cast<std::int64_t>(along.values.size());
    for (std::int64_t point = 0; point < count;) {
      const std::int64_t at = first + point;
      const std::int64_t end = std::min(count, point + along.stride - at % along.stride);
      const float value = along.values[static_cast<std::size_t>(at / along.stride % extent)];
      for (; point < end; ++point) to[point * channels + along.channel] = value;
    }
  }
}

std::int64_t Encoder::memory_bytes() const {
  std::size_t bytes = of_time_.size() * sizeof(EncodedSource);
  for (const AlongAxis& along : of_places_) bytes += sizeof along + along.values.size() * sizeof(float);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace mylos
