#include "mylos/kernels/pointwise/gradient_scale.hpp"

#include <type_traits>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

constexpr std::int64_t unscale_block = 4096;

/// Returns an element in the type in which it is scaled: doubles stay doubles.
template <class T>
KOKKOS_INLINE_FUNCTION auto widened(T value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return to_float(value);
}

/// Returns a number of either type, rounded once.
template <class To, class Wide>
KOKKOS_INLINE_FUNCTION To rounded(Wide value) {
  if constexpr (std::is_same_v<To, double>)
    return static_cast<double>(value);
  else
    return from_float<To>(static_cast<float>(value));
}

/// Separate functions: nvcc does not support a device lambda inside a generic lambda.
template <class From, class To>
void multiply(const Execution& exec, std::int64_t count, const From* from, To* to, const float* scale,
              float factor) {
  for_each_element(
      exec, "times scale", count,
      KOKKOS_LAMBDA(const std::int64_t i) { to[i] = from_float<To>(to_float(from[i]) * (*scale * factor)); });
}

template <class From, class To>
void divide(const Execution& exec, std::int64_t count, const From* from, To* to, const float* scale,
            float factor, std::int32_t* not_finite) {
  for_each_block(
      exec, "unscale", count, runs_on_host ? unscale_block : 1,
      KOKKOS_LAMBDA(const std::int64_t begin, const std::int64_t end) {
        const float divisor = *scale * factor;
        std::int32_t found = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          to[i] = rounded<To>(widened(from[i]) / divisor);
          found |= Kokkos::isfinite(widened(to[i])) ? 0 : 1;
        }
        if (found != 0 && not_finite != nullptr) Kokkos::atomic_store(not_finite, 1);
      });
}

template <class Call>
void with_type(DType type, const Call& call) {
  if (type == DType::fp64) return call(TypeTag<double>{});
  dispatch(type, call);
}

/// Calls call(from, to) with pointers of the tensors' types.
template <class Call>
void with_types(const ConstTensor& from, const Tensor& to, const Call& call) {
  dispatch(from.type(), [&]<class From>(TypeTag<From>) {
    dispatch(to.type(), [&]<class To>(TypeTag<To>) { call(from.as<From>(), to.as<To>()); });
  });
}

}  // namespace

void multiply_by_scale(const Execution& exec, const ConstTensor& from, const Tensor& to, const float* scale,
                       float factor) {
  with_types(from, to,
             [&](const auto* in, auto* out) { multiply(exec, from.size(), in, out, scale, factor); });
}

void divide_by_scale(const Execution& exec, const ConstTensor& from, const Tensor& to, const float* scale,
                     float factor, std::int32_t* not_finite) {
  with_type(from.type(), [&]<class From>(TypeTag<From>) {
    with_type(to.type(), [&]<class To>(TypeTag<To>) {
      divide(exec, from.size(), from.as<From>(), to.as<To>(), scale, factor, not_finite);
    });
  });
}

}  // namespace mylos
