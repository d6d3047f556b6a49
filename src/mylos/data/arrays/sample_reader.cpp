#include "mylos/data/arrays/sample_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace mylos {
namespace {

/// Points that are interleaved at a time, so that the destination stays in the cache.
constexpr std::int64_t points_at_a_time = 1024;
/// Sources whose levels are looked up before any is copied.
constexpr std::size_t sources_at_a_time = 64;

template <class T>
void interleave(const T* from, std::int64_t points, std::int64_t count, std::int64_t channels, float* to) {
  if (count == channels) {
    for (std::int64_t i = 0; i < points * count; ++i) to[i] = static_cast<float>(from[i]);
  } else if (count == 1) {
    for (std::int64_t i = 0; i < points; ++i) to[i * channels] = static_cast<float>(from[i]);
  } else {
    for (std::int64_t i = 0; i < points; ++i)
      for (std::int64_t c = 0; c < count; ++c) to[i * channels + c] = static_cast<float>(from[i * count + c]);
  }
}

template <class T>
void interleave_difference(const T* from, const T* minus, std::int64_t points, std::int64_t count,
                           std::int64_t channels, float* to) {
  for (std::int64_t i = 0; i < points; ++i) {
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t k = i * count + c;
      to[i * channels + c] = static_cast<float>(static_cast<double>(from[k]) - static_cast<double>(minus[k]));
    }
  }
}

/// Interleaves sources of one channel each: the stores of all of them are vectors.
template <std::size_t... I>
void interleave_together(const std::array<const float*, sizeof...(I)>& from, std::int64_t points, float* to,
                         std::index_sequence<I...>) {
  constexpr auto channels = static_cast<std::int64_t>(sizeof...(I));
  const std::tuple sources(from[I]...);
  for (std::int64_t i = 0; i < points; ++i)
    ((to[i * channels + static_cast<std::int64_t>(I)] = std::get<I>(sources)[i]), ...);
}

/// Interleaves values of an array that has some axes of the grid, line by line of its last axis.
template <class T>
void interleave_repeated(const T* from, const SampleLayout& layout, const ChannelSource& source,
                         std::int64_t first, std::int64_t points, std::int64_t channels, float* to) {
  const std::int64_t step = layout.own_strides[source.array].back();
  for (std::int64_t done = 0; done < points;) {
    const std::int64_t rest_of_line = layout.grid.back() - (first + done) % layout.grid.back();
    const std::int64_t own = layout.own_point(source.array, first + done);
    const std::int64_t count = std::min(rest_of_line, points - done);
    for (std::int64_t i = 0; i < count; ++i, to += channels)
      for (std::int64_t c = 0; c < source.count; ++c)
        to[c] = static_cast<float>(from[(own + i * step) * source.count + c]);
    done += count;
  }
}

/// A source with its levels.
struct SourceLevels {
  const ChannelSource* source = nullptr;
  const SampleLayout* repeated = nullptr;  // where the array lacks axes of the grid; else null
  bool wide = false;
  const std::byte* from = nullptr;
  const std::byte* minus = nullptr;
};

template <class T>
void copy_source(const SourceLevels& levels, std::int64_t first, std::int64_t points, std::int64_t channels,
                 float* to) {
  const std::int64_t count = levels.source->count;
  if (levels.repeated != nullptr) {
    return interleave_repeated(reinterpret_cast<const T*>(levels.from), *levels.repeated, *levels.source,
                               first, points, channels, to);
  }
  const T* from = reinterpret_cast<const T*>(levels.from) + first * count;
  if (levels.minus == nullptr) return interleave(from, points, count, channels, to);
  interleave_difference(from, reinterpret_cast<const T*>(levels.minus) + first * count, points, count,
                        channels, to);
}

/// Copies the sources together if they are levels of `Count` arrays of one channel, which are the sample.
template <std::size_t Count>
bool copy_together(const SourceLevels* levels, std::size_t number, std::int64_t channels, std::int64_t first,
                   std::int64_t points, float* to) {
  if (number != Count || channels != static_cast<std::int64_t>(Count)) return false;
  std::array<const float*, Count> from{};
  for (std::size_t i = 0; i < Count; ++i) {
    if (levels[i].wide || levels[i].minus != nullptr || levels[i].repeated != nullptr) return false;
    from[i] = reinterpret_cast<const float*>(levels[i].from) + first;
  }
  interleave_together(from, points, to, std::make_index_sequence<Count>{});
  return true;
}

}  // namespace

void copy_points(LevelCache& cache, const std::vector<ChannelSource>& sources, const SampleLayout& layout,
                 const WindowIndex::Position& window, std::int64_t first, std::int64_t count,
                 std::int64_t channels, float* destination) {
  // The cache holds the slabs of a complete window, so that its levels stay valid together.
  std::array<SourceLevels, sources_at_a_time> found;
  for (std::size_t begin = 0; begin < sources.size(); begin += sources_at_a_time) {
    const std::size_t number = std::min(sources_at_a_time, sources.size() - begin);
    for (std::size_t i = 0; i < number; ++i) {
      const ChannelSource& source = sources[begin + i];
      const bool constant = layout.is_constant(source.array);
      const auto level = [&](std::int64_t offset) {
        return constant ? cache.level(source.array, window.file, 0, 0)
                        : cache.level(source.array, window.file, window.trajectory, window.level + offset);
      };
      found[i] = {&source, layout.own_strides[source.array].empty() ? nullptr : &layout,
                  cache.plan(source.array).wide, level(source.level),
                  source.minus ? level(*source.minus) : nullptr};
    }
    for (std::int64_t point = 0; point < count; point += points_at_a_time) {
      const std::int64_t points = std::min(points_at_a_time, count - point);
      float* to = destination + point * channels;
      const auto together = [&](auto copy) {
        return copy(found.data(), number, channels, first + point, points, to);
      };
      if (together(copy_together<2>) || together(copy_together<3>) || together(copy_together<4>)) continue;
      for (std::size_t i = 0; i < number; ++i) {
        const auto copy = found[i].wide ? copy_source<double> : copy_source<float>;
        copy(found[i], first + point, points, channels, to + found[i].source->first);
      }
    }
  }
}

void write_known(const std::vector<KnownSource>& sources, const std::vector<std::uint8_t>& mask,
                 std::int64_t first, std::int64_t count, std::int64_t channels, float* to) {
  for (std::int64_t point = 0; point < count; ++point, to += channels) {
    for (const KnownSource& source : sources) {
      for (std::int64_t i = source.values; i < source.values + source.count; ++i) {
        const bool counts =
            mask.empty() || mask[static_cast<std::size_t>((first + point) * channels + i)] != 0;
        const bool is_known = counts && (source.is_predicted || !std::isnan(to[i]));
        to[source.first + i - source.values] = is_known ? 1.0f : 0.0f;
      }
    }
  }
}

void put_channels_in_order(const ColumnOrder& order, std::int64_t points, float* values) {
  if (order.empty()) return;
  std::vector<float> stored(order.size());
  for (std::int64_t point = 0; point < points; ++point, values += order.size()) {
    std::copy_n(values, order.size(), stored.data());
    for (std::size_t i = 0; i < order.size(); ++i) values[i] = stored[static_cast<std::size_t>(order[i])];
  }
}

void apply_order(const ColumnOrder& order, ColumnOrder& known, std::vector<std::string>& names) {
  if (order.empty()) return;
  ColumnOrder all;
  std::vector<std::string> named;
  for (const std::int64_t channel : order) {
    const auto i = static_cast<std::size_t>(channel);
    all.push_back(known.empty() ? channel : known[i]);
    named.push_back(names[i]);
  }
  known = std::move(all);
  names = std::move(named);
}

}  // namespace mylos
