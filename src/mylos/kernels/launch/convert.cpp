#include "mylos/kernels/convert.hpp"

#include <type_traits>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/launch/convert_stream.hpp"
#include "mylos/kernels/launch/converted_value.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

template <class From, class To, Overflow overflow>
void convert_as(const Execution& exec, const ConstTensor& from_tensor, const Tensor& to_tensor) {
  const From* from = static_cast<const From*>(from_tensor.data());
  To* to = static_cast<To*>(to_tensor.data());
  for_each_tile(
      exec, "convert", to_tensor.size(), KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        map_tile(from + first, count, to + first, [](From value) { return converted<To, overflow>(value); });
      });
}

void convert_to_infinity(const Execution& exec, const ConstTensor& from, const Tensor& to) {
  if (from.type() == to.type()) {  // copies the bits, including NaN payloads
    if (size_of(from.type()) == 4) {
      convert_as<std::uint32_t, std::uint32_t, Overflow::infinite>(exec, from, to);
    } else {
      convert_as<std::uint16_t, std::uint16_t, Overflow::infinite>(exec, from, to);
    }
    return;
  }
  dispatch(from.type(), [&](auto from_type) {
    dispatch(to.type(), [&](auto to_type) {
      using From = typename decltype(from_type)::type;
      using To = typename decltype(to_type)::type;
      if constexpr (!std::is_same_v<From, To>) convert_as<From, To, Overflow::infinite>(exec, from, to);
    });
  });
}

void convert_saturating(const Execution& exec, const ConstTensor& from, const Tensor& to) {
  dispatch(from.type(), [&](auto from_type) {
    dispatch(to.type(), [&](auto to_type) {
      using From = typename decltype(from_type)::type;
      using To = typename decltype(to_type)::type;
      convert_as<From, To, Overflow::saturate>(exec, from, to);
    });
  });
}

template <class T>
void fill_elements(const Execution& exec, const Tensor& tensor, float value) {
  T* elements = tensor.as<T>();
  for_each_element(
      exec, "fill", tensor.size(), KOKKOS_LAMBDA(std::int64_t i) { elements[i] = from_float<T>(value); });
}

}  // namespace

void convert(const Execution& exec, const ConstTensor& from, const Tensor& to, Overflow overflow) {
  require_can_run("convert");
  if (from.size() != to.size()) {
    fail_run(errors::internal, "convert: {} elements into {}", from.size(), to.size());
  }
  if constexpr (runs_on_host) {
    if (convert_streamed(exec, from, to, overflow)) return;
  }
  if (overflow == Overflow::saturate) return convert_saturating(exec, from, to);
  convert_to_infinity(exec, from, to);
}

void fill(const Execution& exec, const Tensor& tensor, float value) {
  dispatch(tensor.type(),
           [&](auto tag) { fill_elements<typename decltype(tag)::type>(exec, tensor, value); });
}

void set_to_zero(const Execution& exec, const Tensor& tensor) {
  const auto words = static_cast<std::int64_t>(tensor.bytes() / sizeof(float));
  fill(exec, {tensor.data(), DType::fp32, 1, words}, 0);
}

}  // namespace mylos
