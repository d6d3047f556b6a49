// Arrays of a calling program: a pointer, an element type, extents and strides. Kokkos views convert to them.
//
//   Kokkos::View<const double**, Kokkos::LayoutLeft> x("x", columns, features);
//   mylos::ConstArray array = mylos::const_array_of(x);   // {x.data(), fp64, 2, {columns, features}, ...}
//
// They own nothing: the memory must outlive the call that receives them. A function that takes one says
// which extents it expects, and checks them.
#pragma once

#include <Kokkos_Core_fwd.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mylos/base/float16.hpp"

namespace mylos {

/// The element types of arrays. 16-bit types are IEEE binary16 and bfloat16.
enum class ElementType : std::uint8_t { fp32, fp64, fp16, bf16 };

/// The largest number of dimensions of an array; the smallest is 1.
inline constexpr int max_array_rank = 5;

/// How messages count the dimensions of a caller's array: as here; for Fortran, in reverse; for Fortran with
/// `columns_first`, in the order used here, from 1 on.
enum class ArrayOrder : std::uint8_t { c, fortran, columns_first };

/// An entry per dimension; entries after the first `rank` are not used.
using ArrayExtents = std::array<std::int64_t, max_array_rank>;

/// Elements that are only read. The element with indices i is at data + sum of i[d] · strides[d] elements.
struct ConstArray {
  const void* data = nullptr;            // of the element whose indices are 0
  ElementType type = ElementType::fp32;  // of each element
  int rank = 0;                          // dimensions, 1 to max_array_rank
  ArrayExtents extents{};                // the first `rank` count
  ArrayExtents strides{};                // in elements; not used where the extent is 0 or 1
  bool on_device = false;                // true: memory that the host cannot read, in a build for devices
  ArrayOrder order = ArrayOrder::c;      // in which messages name extents
};

/// Elements that are written.
struct Array {
  void* data = nullptr;                  // this and the other members as in ConstArray
  ElementType type = ElementType::fp32;  // of each element
  int rank = 0;                          // dimensions
  ArrayExtents extents{};                // the first `rank` count
  ArrayExtents strides{};                // in elements, at least 1
  bool on_device = false;                // memory that the host cannot read
  ArrayOrder order = ArrayOrder::c;      // in which messages name extents
};

namespace detail {

template <class>
inline constexpr bool is_view = false;
template <class Data, class... Properties>
inline constexpr bool is_view<Kokkos::View<Data, Properties...>> = true;

template <class T>
[[nodiscard]] constexpr ElementType element_type_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, half> ||
                    std::is_same_v<T, bfloat16>,
                "elements are float, double, mylos::half or mylos::bfloat16");
  if (std::is_same_v<T, double>) return ElementType::fp64;
  if (std::is_same_v<T, half>) return ElementType::fp16;
  if (std::is_same_v<T, bfloat16>) return ElementType::bf16;
  return ElementType::fp32;
}

template <class ArrayType, class View>
[[nodiscard]] ArrayType array_from(const View& view) {
  constexpr int rank = static_cast<int>(View::rank);
  static_assert(rank >= 1 && rank <= max_array_rank, "arrays have 1 to 5 dimensions");
  ArrayType array;
  array.data = view.data();
  array.type = element_type_of<typename View::non_const_value_type>();
  array.rank = rank;
  for (int d = 0; d < rank; ++d) {
    array.extents[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(view.extent(d));
    array.strides[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(view.stride(d));
  }
  array.on_device = !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible;
  return array;
}

}  // namespace detail

/// Returns the same elements, to be read.
[[nodiscard]] inline ConstArray const_array_of(const Array& array) {
  return {array.data, array.type, array.rank, array.extents, array.strides, array.on_device, array.order};
}

/// Kokkos views of 1 to 5 dimensions, of any layout and memory.
template <class View>
concept ArrayView = detail::is_view<View>;

/// Returns the elements of a view, to be read.
template <ArrayView View>
[[nodiscard]] ConstArray const_array_of(const View& view) {
  return detail::array_from<ConstArray>(view);
}

/// Returns the elements of a view, to be written.
template <ArrayView View>
[[nodiscard]] Array array_of(const View& view) {
  static_assert(!std::is_const_v<typename View::value_type>, "elements that are written are not const");
  return detail::array_from<Array>(view);
}

}  // namespace mylos
