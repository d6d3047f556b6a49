#include "mylos/kernels/launch/tile_values.hpp"

#include "mylos/base/vector/vector_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/launch/tile_values.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

#include "mylos/kernels/launch/vector_values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

template <class T>
void read_values(const T* from, std::int64_t count, float* values) {
  for_each_vector(count, [=](auto d, std::int64_t i, auto lanes)
                             HWY_ATTR { store(d, load(d, from + i, lanes), values + i, lanes); });
}

template <class T>
void write_values(const float* values, std::int64_t count, T* to) {
  for_each_vector(count, [=](auto d, std::int64_t i, auto lanes)
                             HWY_ATTR { store(d, load(d, values + i, lanes), to + i, lanes); });
}

template <class T>
void write_rounded_values(float* values, std::int64_t count, T* to) {
  for_each_vector(count, [=](auto d, std::int64_t i, auto lanes) HWY_ATTR {
    store(d, load(d, values + i, lanes), to + i, lanes);
    store(d, load(d, to + i, lanes), values + i, lanes);
  });
}

// A dispatch table holds functions, not templates.
void read_half(const half* from, std::int64_t count, float* values) {
  read_values(from, count, values);
}
void write_half(const float* values, std::int64_t count, half* to) {
  write_values(values, count, to);
}
void write_bfloat16(const float* values, std::int64_t count, bfloat16* to) {
  write_values(values, count, to);
}
void write_rounded_half(float* values, std::int64_t count, half* to) {
  write_rounded_values(values, count, to);
}
void write_rounded_bfloat16(float* values, std::int64_t count, bfloat16* to) {
  write_rounded_values(values, count, to);
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos::host_tile {

HWY_EXPORT(read_half);
HWY_EXPORT(write_half);
HWY_EXPORT(write_bfloat16);
HWY_EXPORT(write_rounded_half);
HWY_EXPORT(write_rounded_bfloat16);

void read(const half* from, std::int64_t count, float* values) {
  HWY_DYNAMIC_DISPATCH(read_half)(from, count, values);
}
void write(const float* values, std::int64_t count, half* to) {
  HWY_DYNAMIC_DISPATCH(write_half)(values, count, to);
}
void write(const float* values, std::int64_t count, bfloat16* to) {
  HWY_DYNAMIC_DISPATCH(write_bfloat16)(values, count, to);
}
void write_rounded(float* values, std::int64_t count, half* to) {
  HWY_DYNAMIC_DISPATCH(write_rounded_half)(values, count, to);
}
void write_rounded(float* values, std::int64_t count, bfloat16* to) {
  HWY_DYNAMIC_DISPATCH(write_rounded_bfloat16)(values, count, to);
}

}  // namespace mylos::host_tile
#endif
