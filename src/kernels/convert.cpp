#include "mylos/kernels/convert.hpp"

#include <algorithm>
#include <type_traits>

#include "mylos/kernels/launch.hpp"
#include "stream_line.hpp"

namespace mylos {
namespace {

/// Results of this size and more are streamed: they would only drive everything else out of the caches.
constexpr std::size_t streamed_bytes = std::size_t{8} << 20;
/// How far ahead of the conversion its input is asked for: worth a sixth of the speed on Ice Lake.
[[maybe_unused]] constexpr std::size_t prefetch_distance = 2048;

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

/// Line by line, so that loads and streaming stores overlap.
template <class From, class To>
void stream_elements(const From* from, To* to, std::int64_t count) {
  constexpr auto line_length = static_cast<std::int64_t>(line_bytes / sizeof(To));
  const auto past_line =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes / sizeof(To));
  const std::int64_t head = std::min(count, past_line == 0 ? 0 : line_length - past_line);
  const auto convert_one = [=](std::int64_t i) { to[i] = converted<To>(from[i]); };
  simd_for(0, head, convert_one);
  std::int64_t done = head;
  for (; done + line_length <= count; done += line_length) {
    alignas(line_bytes) To line[line_length];
    const From* source = from + done;
    To* target = line;
    const auto* next = reinterpret_cast<const std::byte*>(source) + prefetch_distance;
    for (std::size_t byte = 0; byte < line_length * sizeof(From); byte += line_bytes)
      __builtin_prefetch(next + byte);
    simd_for(0, line_length, [=](std::int64_t i) { target[i] = converted<To>(source[i]); });
    stream_line(to + done, line);
  }
  simd_for(done, count, convert_one);
  finish_streaming();
}

template <class From, class To>
void convert_as(const Execution& exec, const Tensor& from_tensor, const Tensor& to_tensor) {
  const auto* from = static_cast<const From*>(from_tensor.data());
  auto* to = static_cast<To*>(to_tensor.data());
  if constexpr (runs_on_host) {
    if (to_tensor.bytes() >= streamed_bytes) {
      for_each_block(exec, "convert", to_tensor.size(), 65536, [=](std::int64_t begin, std::int64_t end) {
        stream_elements(from + begin, to + begin, end - begin);
      });
      return;
    }
  }
  convert_elements(exec, from, to, to_tensor.size());
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
