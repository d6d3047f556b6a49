// Makes a DeviceArray, and views of it for kernels.
#pragma once

#include <cstddef>
#include <string>

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

/// Returns `count` elements that are initialised as those of a Kokkos view. `label` names them in Kokkos'
/// tools.
template <class T>
[[nodiscard]] DeviceArray<T> make_device_array(const std::string& label, std::size_t count = 1) {
  return DeviceArray<T>(Kokkos::View<T*, Device>(label, count));
}

/// Returns a view of the elements. The array must outlive its use.
template <class T>
[[nodiscard]] auto view_of(const DeviceArray<T>& array) {
  return Kokkos::View<T*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(array.data(), array.size());
}

}  // namespace mylos
