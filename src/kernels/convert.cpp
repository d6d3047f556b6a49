#include "mylos/kernels/convert.hpp"

#include <cstring>

#include "mylos/kernels/launch.hpp"
#include "stream_copy.hpp"

namespace mylos {
namespace {

/// Results of this size and more are streamed: they would only drive everything else out of the caches.
constexpr std::size_t streamed_bytes = std::size_t{8} << 20;

/// Converts in pieces that stay in the first-level cache on their way to memory.
template <class From, class To>
void convert_streaming(const Execution& exec, const From* from, To* to, std::int64_t count) {
  constexpr std::int64_t block = 65536;
  for_each_block(exec, "convert", count, block, [=](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t piece = 2048;
    alignas(64) To converted[piece];
    for (std::int64_t start = begin; start < end; start += piece) {
      const std::int64_t length = launch::smaller(piece, end - start);
      const From* source = from + start;
      To* target = converted;
      simd_for(0, length, [=](std::int64_t i) { target[i] = from_float<To>(to_float(source[i])); });
      stream_copy(to + start, converted, static_cast<std::size_t>(length) * sizeof(To));
    }
  });
}

void copy_streaming(const Execution& exec, const Tensor& from, const Tensor& to) {
  const auto* source = static_cast<const std::byte*>(from.data());
  auto* target = static_cast<std::byte*>(to.data());
  for_each_block(exec, "copy", static_cast<std::int64_t>(to.bytes()), 1 << 18,
                 [=](std::int64_t begin, std::int64_t end) {
                   stream_copy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
                 });
}

template <class From, class To>
void convert_elements(const Execution& exec, const From* from, To* to, std::int64_t count) {
  for_each_element(
      exec, "convert", count, KOKKOS_LAMBDA(std::int64_t i) { to[i] = from_float<To>(to_float(from[i])); });
}

template <class T>
void fill_elements(const Execution& exec, T* elements, std::int64_t count, T value) {
  for_each_element(
      exec, "fill", count, KOKKOS_LAMBDA(std::int64_t i) { elements[i] = value; });
}

template <class From, class To>
void convert_as(const Execution& exec, const Tensor& from, const Tensor& to) {
  if constexpr (runs_on_host) {
    if (to.bytes() >= streamed_bytes) {
      convert_streaming(exec, from.as<From>(), to.as<To>(), to.size());
      return;
    }
  }
  convert_elements(exec, from.as<From>(), to.as<To>(), to.size());
}

}  // namespace

void convert(const Execution& exec, const Tensor& from, const Tensor& to) {
  if (from.size() != to.size()) {
    fail_run("convert: {} elements into {}", from.size(), to.size());
  }
  if (runs_on_host && from.type() == to.type() && to.bytes() >= streamed_bytes) {
    copy_streaming(exec, from, to);
    return;
  }
  dispatch(from.type(), [&](auto from_tag) {
    dispatch(to.type(), [&](auto to_tag) {
      convert_as<typename decltype(from_tag)::type, typename decltype(to_tag)::type>(exec, from, to);
    });
  });
}

void fill(const Execution& exec, const Tensor& tensor, float value) {
  dispatch(tensor.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_elements(exec, tensor.as<T>(), tensor.size(), from_float<T>(value));
  });
}

}  // namespace mylos
