#include "base/vector_lanes.hpp"

#include "mylos/base/vector/vector_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/vector_lanes.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

std::size_t lanes_of_target() {
  return hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<float>());
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos::test {

HWY_EXPORT(lanes_of_target);

std::size_t vector_lanes() {
  return HWY_DYNAMIC_DISPATCH(lanes_of_target)();
}

}  // namespace mylos::test
#endif
