// Host memory that Kokkos' tools see and that is not initialised with zeros.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mylos {

template <class T, class Space = Kokkos::HostSpace>
using HostArray = Kokkos::View<T*, Space>;

template <class Array>
[[nodiscard]] Array uninitialised(const std::string& label, std::int64_t size) {
  return Array(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), static_cast<std::size_t>(size));
}

using HostBytes = HostArray<std::byte>;

}  // namespace mylos
