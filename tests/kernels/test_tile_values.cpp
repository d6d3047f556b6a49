// Tiles of any type and length: the elements read and written, compared one by one with the conversions of
// the types.
#include "mylos/kernels/launch/tile_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mylos/kernels/launch/launch.hpp"

namespace mylos::tile_values_test {

template <class T>
using Elements = Kokkos::View<T*, Device>;

/// Multiplies by 0.3, tile by tile, from element `start` on. `rounded` receives the values of
/// write_rounded_tile.
template <class T>
void rewrite(const Elements<T>& from, const Elements<T>& to, const Elements<float>& rounded,
             std::int64_t count, std::int64_t start = 0, std::int64_t start_in = 0) {
  const T* in = from.data() + start_in;
  T* out = to.data() + start;
  float* left = rounded.data();
  for_each_tile(
      Execution{}, "rewrite", 1, count,
      KOKKOS_LAMBDA(std::int64_t, std::int64_t first, std::int64_t in_tile) {
        float buffer[tile_width];
        float value[tile_width] = {};
        const auto x = tile_values(in + first, in_tile, buffer);
        for_each_in_tile(in_tile, [&](std::int64_t i) { value[i] = 0.3f * x[i]; });
        write_rounded_tile(value, in_tile, out + first);
        for_each_in_tile(in_tile, [&](std::int64_t i) { left[first + i] = value[i]; });
      });
  Execution{}.fence();
}

/// By map_tile.
template <class T>
void copy(const Elements<T>& from, const Elements<T>& to, std::int64_t count, std::int64_t start,
          std::int64_t start_in) {
  const T* in = from.data() + start_in;
  T* out = to.data() + start;
  for_each_tile(
      Execution{}, "copy", count, KOKKOS_LAMBDA(std::int64_t first, std::int64_t in_tile) {
        map_tile(in + first, in_tile, out + first, [](T value) { return value; });
      });
  Execution{}.fence();
}

template <class T>
T element(std::int64_t i) {
  return from_float<T>(static_cast<float>(i % 37 - 18) * (i % 5 == 0 ? 1e-3f : 1.7f));
}

template <class T>
class TileValues : public ::testing::Test {};
using Types = ::testing::Types<float, half, bfloat16>;
TYPED_TEST_SUITE(TileValues, Types);

TYPED_TEST(TileValues, ConvertAsSingleElementsDoForAnyLength) {
  using T = TypeParam;
  const std::int64_t room = 3 * tile_width + 64;
  const Elements<T> from("from", room), to("to", room);
  const Elements<float> rounded("rounded", room);
  const auto host_from = Kokkos::create_mirror_view(from);
  for (std::int64_t i = 0; i < room; ++i) host_from(i) = element<T>(i);
  Kokkos::deep_copy(from, host_from);
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{15}, std::int64_t{16}, std::int64_t{33},
                                   tile_width, tile_width + 1, 2 * tile_width + 47}) {
    Kokkos::deep_copy(to, from);
    rewrite<T>(from, to, rounded, count);
    const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), to);
    const auto left = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), rounded);
    for (std::int64_t i = 0; i < room; ++i) {
      const T expected = i < count ? from_float<T>(0.3f * to_float(element<T>(i))) : element<T>(i);
      ASSERT_EQ(to_float(result(i)), to_float(expected)) << "element " << i << " of " << count;
      if (i < count) {
        ASSERT_EQ(left(i), to_float(expected)) << "element " << i << " of " << count;
      }
    }
  }
}

TYPED_TEST(TileValues, MayStartAtAnyElement) {
  using T = TypeParam;
  const std::int64_t count = 2 * tile_width + 13;
  const std::int64_t room = count + 32;
  const Elements<T> from("from", room), to("to", room), copied("copied", room);
  const Elements<float> rounded("rounded", room);
  const auto host_from = Kokkos::create_mirror_view(from);
  for (std::int64_t i = 0; i < room; ++i) host_from(i) = element<T>(i);
  Kokkos::deep_copy(from, host_from);
  for (std::int64_t start_in = 0; start_in < 17; ++start_in) {
    for (std::int64_t start = 0; start < 17; ++start) {
      Kokkos::deep_copy(to, from);
      Kokkos::deep_copy(copied, from);
      rewrite<T>(from, to, rounded, count, start, start_in);
      copy<T>(from, copied, count, start, start_in);
      const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), to);
      const auto same = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copied);
      for (std::int64_t i = 0; i < room; ++i) {
        const bool written = i >= start && i < start + count;
        const T source = element<T>(written ? i - start + start_in : i);
        const T expected = written ? from_float<T>(0.3f * to_float(source)) : source;
        ASSERT_EQ(to_float(result(i)), to_float(expected)) << i << " from " << start_in << " to " << start;
        ASSERT_EQ(to_float(same(i)), to_float(source)) << i << " from " << start_in << " to " << start;
      }
    }
  }
}

TYPED_TEST(TileValues, KeepNotANumberAndInfinity) {
  using T = TypeParam;
  constexpr std::int64_t count = 19;
  const Elements<T> from("from", count), to("to", count);
  const Elements<float> rounded("rounded", count);
  const auto host_from = Kokkos::create_mirror_view(from);
  for (std::int64_t i = 0; i < count; ++i) {
    host_from(i) = from_float<T>(i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                            : std::numeric_limits<float>::infinity());
  }
  Kokkos::deep_copy(from, host_from);
  rewrite<T>(from, to, rounded, count);
  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), to);
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = to_float(result(i));
    EXPECT_TRUE(i % 2 == 0 ? std::isnan(value) : std::isinf(value)) << i;
  }
}

}  // namespace mylos::tile_values_test
