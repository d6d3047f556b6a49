// A tile's elements as floats, whatever their type.
//
// On the host whole vectors are converted by the processor's own instructions, which compilers do not find by
// themselves. Those that round to bfloat16 take subnormal numbers for zero.
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

/// What gives the `count` <= tile_width elements from `from` on by [index]. On the host halves are converted
/// into `buffer` first; compilers vectorise the conversion of the other types by themselves.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION auto tile_values(const T* from, [[maybe_unused]] std::int64_t count,
                                             [[maybe_unused]] float* buffer) {
  if constexpr (runs_on_host && std::is_same_v<T, half>) {
    host_tile::read(from, count, buffer);
    return static_cast<const float*>(buffer);
  } else {
    return ConvertedValues<T>{from};
  }
}

/// Rounds `count` <= tile_width values to the elements from `to` on.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write_tile(const float* values, std::int64_t count, T* to) {
  if constexpr (!std::is_same_v<T, float> && runs_on_host) {
    host_tile::write(values, count, to);
  } else {
    for_each_in_tile(count, [=](std::int64_t i) { to[i] = from_float<T>(values[i]); });
  }
}

/// The same, and `values` become what was written.
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
