// Between host numbers and Kokkos views in device memory.
#pragma once

#include <vector>

#include "mylos/base/execution.hpp"
#include "support/device_values.hpp"

namespace mylos::test {

/// A view in device memory with these values.
template <class T>
Kokkos::View<T*, Device> on_device(const std::vector<T>& values) {
  const Kokkos::View<T*, Device> view("test values", values.size());
  copy_to_device(values.data(), view.data(), values.size() * sizeof(T));
  return view;
}

/// A view's elements. Waits for all kernels before.
template <class T>
std::vector<T> on_host(const Kokkos::View<T*, Device>& view) {
  std::vector<T> values(view.size());
  copy_to_host(view.data(), values.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace mylos::test
