// A tile's elements as floats, whatever their type.
//
// On the host whole vectors are converted by the processor's own instructions, which compilers do not find by
// themselves. Those that round to bfloat16 take subnormal numbers for zero. On a device a whole tile is one
// access of memory, where it is aligned to its bytes.
#pragma once

#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch.hpp"

namespace mylos {

namespace host_tile {

void read(const half* from, std::int64_t count, float* values);
void write(const float* values, std::int64_t count, half* to);
void write(const float* values, std::int64_t count, bfloat16* to);
/// The values become what was written.
void write_rounded(float* values, std::int64_t count, half* to);
void write_rounded(float* values, std::int64_t count, bfloat16* to);

}  // namespace host_tile

/// Prefetches elements that will be read soon. On the host: rows of a strip are too far apart for the
/// processor's own prefetching.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_tile([[maybe_unused]] const T* from,
                                               [[maybe_unused]] std::int64_t count) {
  if constexpr (runs_on_host) {
    constexpr std::int64_t in_a_line = 64 / sizeof(T);
    for (std::int64_t i = 0; i < count; i += in_a_line) __builtin_prefetch(from + i);
  }
}

/// The same for elements that will be written soon: on hosts their lines may lie in other cores' caches.
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

/// What a device thread reads or writes at once.
template <class T>
struct alignas(tile_width * sizeof(T)) Elements {
  T element[tile_width];
};

template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_aligned(const T* tile) {
  return reinterpret_cast<std::uintptr_t>(tile) % sizeof(Elements<T>) == 0;
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void read(const T* from, std::int64_t count, float* values) {
  if (count == tile_width && is_aligned(from)) {
    const auto all = *reinterpret_cast<const Elements<T>*>(from);
    for_each_in_tile(tile_width, [&](std::int64_t i) { values[i] = to_float(all.element[i]); });
  } else {
    for_each_in_tile(count, [&](std::int64_t i) { values[i] = to_float(from[i]); });
  }
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write(const float* values, std::int64_t count, T* to) {
  if (count == tile_width && is_aligned(to)) {
    Elements<T> all;
    for_each_in_tile(tile_width, [&](std::int64_t i) { all.element[i] = from_float<T>(values[i]); });
    *reinterpret_cast<Elements<T>*>(to) = all;
  } else {
    for_each_in_tile(count, [&](std::int64_t i) { to[i] = from_float<T>(values[i]); });
  }
}

}  // namespace device_tile

/// What gives the `count` <= tile_width elements from `from` on by [index]. On a device, and halves on the
/// host, they are read into `buffer` first; compilers vectorise the conversion of the other types by
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

/// Rounds `count` <= tile_width values to the elements from `to` on.
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

/// to[i] = function(from[i]) for `count` <= tile_width elements.
template <class From, class To, class Function>
KOKKOS_FORCEINLINE_FUNCTION void map_tile(const From* from, std::int64_t count, To* to,
                                          const Function& function) {
  if constexpr (!runs_on_host) {
    if (count == tile_width && device_tile::is_aligned(from) && device_tile::is_aligned(to)) {
      const auto all = *reinterpret_cast<const device_tile::Elements<From>*>(from);
      device_tile::Elements<To> mapped;
      for_each_in_tile(tile_width, [&](std::int64_t i) { mapped.element[i] = function(all.element[i]); });
      *reinterpret_cast<device_tile::Elements<To>*>(to) = mapped;
      return;
    }
  }
  for_each_in_tile(count, [=](std::int64_t i) { to[i] = function(from[i]); });
}

/// The same as write_tile, and `values` become what was written.
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
