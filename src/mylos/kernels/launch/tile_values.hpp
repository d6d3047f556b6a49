// Converts the elements of a tile from and to floats.
//
// On the host, vectors are converted by processor instructions that compilers do not generate by themselves.
// Those that round to bfloat16 flush subnormal numbers to zero. On a device, an aligned tile of 16-bit
// elements (16 bytes) is one memory access, and an aligned tile of floats is two. In other tiles an aligned
// half is one access.
#pragma once

#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

namespace host_tile {

void read(const half* from, std::int64_t count, float* values);
void write(const float* values, std::int64_t count, half* to);
void write(const float* values, std::int64_t count, bfloat16* to);
/// Rounds, writes, and sets `values` to what was written.
void write_rounded(float* values, std::int64_t count, half* to);
void write_rounded(float* values, std::int64_t count, bfloat16* to);

}  // namespace host_tile

/// Prefetches elements that will be read soon. On the host the rows of a strip are too far apart for the
/// hardware prefetcher.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_tile([[maybe_unused]] const T* from,
                                               [[maybe_unused]] std::int64_t count) {
  if constexpr (runs_on_host) {
    constexpr std::int64_t in_a_line = 64 / sizeof(T);
    for (std::int64_t i = 0; i < count; i += in_a_line) __builtin_prefetch(from + i);
  }
}

/// Prefetches elements that will be written soon: on hosts their cache lines may be in another core's cache.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_tile_to_write([[maybe_unused]] T* to,
                                                        [[maybe_unused]] std::int64_t count) {
  if constexpr (runs_on_host) {
    constexpr std::int64_t in_a_line = 64 / sizeof(T);
    for (std::int64_t i = 0; i < count; i += in_a_line) __builtin_prefetch(to + i, 1);
  }
}

/// Elements that are converted where they are used.
template <class T>
struct ConvertedValues {
  const T* from;
  KOKKOS_FORCEINLINE_FUNCTION float operator[](std::int64_t i) const { return to_float(from[i]); }
};

namespace device_tile {

/// What a device thread reads or writes at once; more than 16 bytes take several accesses of 16.
template <class T, std::int64_t count = tile_width>
struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Elements {
  T element[count];
};

/// Returns the elements as one object if they are aligned for a single access.
template <std::int64_t count, class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_aligned(const T* first) {
  return reinterpret_cast<std::uintptr_t>(first) % alignof(Elements<T, count>) == 0;
}

/// Reads `count` elements, at most a tile; the elements after them are undefined.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Elements<T> load(const T* from, std::int64_t count) {
  constexpr std::int64_t half_width = tile_width / 2;
  if (count == tile_width && is_aligned<tile_width>(from)) return *reinterpret_cast<const Elements<T>*>(from);
  Elements<T> all{};
  for (std::int64_t start = 0; start < tile_width; start += half_width) {
    if (count >= start + half_width && is_aligned<half_width>(from + start)) {
      const auto part = *reinterpret_cast<const Elements<T, half_width>*>(from + start);
      for (std::int64_t i = 0; i < half_width; ++i) all.element[start + i] = part.element[i];
    } else {
      for (std::int64_t i = start; i < start + half_width; ++i) {
        if (i < count) all.element[i] = from[i];
      }
    }
  }
  return all;
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store(const Elements<T>& all, std::int64_t count, T* to) {
  constexpr std::int64_t half_width = tile_width / 2;
  if (count == tile_width && is_aligned<tile_width>(to)) {
    hardware::write_aligned(all, to);
    return;
  }
  for (std::int64_t start = 0; start < tile_width; start += half_width) {
    if (count >= start + half_width && is_aligned<half_width>(to + start)) {
      Elements<T, half_width> part;
      for (std::int64_t i = 0; i < half_width; ++i) part.element[i] = all.element[start + i];
      *reinterpret_cast<Elements<T, half_width>*>(to + start) = part;
    } else {
      for (std::int64_t i = start; i < start + half_width; ++i) {
        if (i < count) to[i] = all.element[i];
      }
    }
  }
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void read(const T* from, std::int64_t count, float* values) {
  const Elements<T> all = load(from, count);
  for_each_in_tile(tile_width, [&](std::int64_t i) { values[i] = to_float(all.element[i]); });
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write(const float* values, std::int64_t count, T* to) {
  Elements<T> all{};
  for_each_in_tile(count, [&](std::int64_t i) { all.element[i] = from_float<T>(values[i]); });
  store(all, count, to);
}

/// Adds to[i] += values[i].
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void add(const float* values, std::int64_t count, T* to) {
  float sum[tile_width];
  read(to, count, sum);
  for_each_in_tile(count, [&](std::int64_t i) { sum[i] += values[i]; });
  write(sum, count, to);
}

}  // namespace device_tile

/// Returns an object whose [index] yields the `count` <= tile_width elements at `from`. On a device, and for
/// half on the host, they are read into `buffer` first. Compilers vectorise the other conversions by
/// themselves.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION auto tile_values(const T* from, [[maybe_unused]] std::int64_t count,
                                             [[maybe_unused]] float* buffer) {
  if constexpr (!runs_on_host) {
    device_tile::read(from, count, buffer);
    return static_cast<const float*>(buffer);
  } else if constexpr (std::is_same_v<T, half>) {
    host_tile::read(from, count, buffer);
    return static_cast<const float*>(buffer);
  } else {
    return ConvertedValues<T>{from};
  }
}

/// Reads values[i] = from[i] for `count` <= tile_width elements.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_tile(const T* from, std::int64_t count, float* values) {
  if constexpr (!runs_on_host) {
    device_tile::read(from, count, values);
  } else {
    for_each_in_tile(count, [=](std::int64_t i) { values[i] = to_float(from[i]); });
  }
}

/// Rounds `count` <= tile_width values and writes them to `to`.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write_tile(const float* values, std::int64_t count, T* to) {
  if constexpr (!runs_on_host) {
    device_tile::write(values, count, to);
  } else if constexpr (!std::is_same_v<T, float>) {
    host_tile::write(values, count, to);
  } else {
    for_each_in_tile(count, [=](std::int64_t i) { to[i] = from_float<T>(values[i]); });
  }
}

/// Writes to[i] = function(from[i]) for `count` <= tile_width elements.
template <class From, class To, class Function>
KOKKOS_FORCEINLINE_FUNCTION void map_tile(const From* from, std::int64_t count, To* to,
                                          const Function& function) {
  if constexpr (!runs_on_host) {
    const auto all = device_tile::load(from, count);
    device_tile::Elements<To> mapped;
    for_each_in_tile(tile_width, [&](std::int64_t i) { mapped.element[i] = function(all.element[i]); });
    device_tile::store(mapped, count, to);
  } else {
    for_each_in_tile(count, [=](std::int64_t i) { to[i] = function(from[i]); });
  }
}

/// As write_tile, and sets `values` to what was written.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write_rounded_tile(float* values, std::int64_t count, T* to) {
  if constexpr (!std::is_same_v<T, float> && runs_on_host) {
    host_tile::write_rounded(values, count, to);
  } else {
    write_tile(values, count, to);
    for_each_in_tile(count, [=](std::int64_t i) { values[i] = to_float(from_float<T>(values[i])); });
  }
}

}  // namespace mylos
