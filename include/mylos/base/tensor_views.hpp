// The elements of a tensor as Kokkos views: Tensor::matrix() and Tensor::flat().
#pragma once

#include <cstddef>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

template <class T>
struct detail::TensorViews {
  using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Flat = Kokkos::View<T*, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
};

template <class Void>
template <class T>
auto BasicTensor<Void>::matrix() const -> MatrixView<Element<T>> {
  return MatrixView<Element<T>>(as<T>(), static_cast<std::size_t>(rows_), static_cast<std::size_t>(columns_));
}

template <class Void>
template <class T>
auto BasicTensor<Void>::flat() const -> FlatView<Element<T>> {
  return FlatView<Element<T>>(as<T>(), static_cast<std::size_t>(size()));
}

}  // namespace mylos
