#include "mylos/kernels/convert.hpp"

#include <type_traits>

#include "convert_stream.hpp"
#include "mylos/kernels/launch.hpp"

namespace mylos {
namespace {

template <class To, class From>
KOKKOS_FORCEINLINE_FUNCTION To converted(From value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else {
    return from_float<To>(to_float(value));
  }
}

template <class From, class To>
void convert_elements(const Execution& exec, const From* from, To* to, std::int64_t count) {
  for_each_element(
      exec, "convert", count, KOKKOS_LAMBDA(std::int64_t i) { to[i] = converted<To>(from[i]); });
}

template <class From, class To>
void convert_as(const Execution& exec, const Tensor& from, const Tensor& to) {
  convert_elements(exec, static_cast<const From*>(from.data()), static_cast<To*>(to.data()), to.size());
}

template <class T>
void fill_elements(const Execution& exec, const Tensor& tensor, float value) {
  T* elements = tensor.as<T>();
  for_each_element(
      exec, "fill", tensor.size(), KOKKOS_LAMBDA(std::int64_t i) { elements[i] = from_float<T>(value); });
}

}  // namespace

void convert(const Execution& exec, const Tensor& from, const Tensor& to) {
  if (from.size() != to.size()) {
    fail_run("convert: {} elements into {}", from.size(), to.size());
  }
  if (convert_streamed(exec, from, to)) return;
  if (from.type() == to.type()) {  // the bits as they are, NaN payloads included
    if (size_of(from.type()) == 4) {
      convert_as<std::uint32_t, std::uint32_t>(exec, from, to);
    } else {
      convert_as<std::uint16_t, std::uint16_t>(exec, from, to);
    }
    return;
  }
  dispatch(from.type(), [&](auto from_type) {
    dispatch(to.type(), [&](auto to_type) {
      using From = typename decltype(from_type)::type;
      using To = typename decltype(to_type)::type;
      if constexpr (!std::is_same_v<From, To>) convert_as<From, To>(exec, from, to);
    });
  });
}

void fill(const Execution& exec, const Tensor& tensor, float value) {
  dispatch(tensor.type(),
           [&](auto tag) { fill_elements<typename decltype(tag)::type>(exec, tensor, value); });
}

}  // namespace mylos
