// Tensor: a view of a matrix [rows, columns] with a run-time element type, row-major and contiguous, in
// device memory. ConstTensor: one whose elements are only read; every Tensor converts to it.
//
// A tensor does not own its memory (an Arena does) and is cheap to copy. Rows are samples or tokens, columns
// are features. A vector is a tensor of one row.
//
// tensor_views.hpp defines matrix() and flat(), the tensor as a Kokkos view: who calls them includes it, and
// Kokkos with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mylos/base/dtype.hpp"
#include "mylos/base/dtype_of.hpp"

namespace mylos {

namespace detail {
/// The types of views of elements of type T. Incomplete without tensor_views.hpp.
template <class T>
struct TensorViews;
/// Throws Error: elements of `type` were read as `as`.
[[noreturn]] void fail_element_type(DType type, DType as);
}  // namespace detail

/// `Void`: void, or const void if elements are only read.
template <class Void>
class BasicTensor {
  /// T, or const T if elements are only read.
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;

 public:
  /// A Kokkos view of the elements, [rows, columns].
  template <class T>
  using MatrixView = typename detail::TensorViews<T>::Matrix;
  /// A Kokkos view of the elements, one behind the other.
  template <class T>
  using FlatView = typename detail::TensorViews<T>::Flat;

  /// An empty tensor: no memory.
  BasicTensor() = default;
  /// `data`: device memory of rows * columns elements, which must outlive the tensor.
  BasicTensor(Void* data, DType type, std::int64_t rows, std::int64_t columns)
      : data_(data), type_(type), rows_(rows), columns_(columns) {}
  /// Converts a Tensor to a ConstTensor.
  template <class Other, class = std::enable_if_t<std::is_void_v<Other> && !std::is_same_v<Other, Void> &&
                                                  std::is_const_v<Void>>>
  BasicTensor(const BasicTensor<Other>& other)  // NOLINT: converts
      : BasicTensor(other.data(), other.type(), other.rows(), other.columns()) {}

  /// Returns the element type.
  [[nodiscard]] DType type() const { return type_; }
  /// Returns the number of rows.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Returns the elements of a row.
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size() const { return rows_ * columns_; }
  /// Returns the bytes of all elements.
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(type_); }
  /// Returns whether the tensor has no memory.
  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  /// Returns the first element's address.
  [[nodiscard]] Void* data() const { return data_; }

  /// Returns the elements. Throws Error if the tensor has another element type. For half and bfloat16,
  /// include dispatch.hpp.
  template <class T>
  [[nodiscard]] Element<T>* as() const {
    if (dtype_of<T> != type_) detail::fail_element_type(type_, dtype_of<T>);
    return static_cast<Element<T>*>(data_);
  }
  /// Returns the elements as a view [rows, columns]. Throws as as(). Include tensor_views.hpp.
  template <class T>
  [[nodiscard]] MatrixView<Element<T>> matrix() const;
  /// Returns the elements as a view of one dimension. Throws as as(). Include tensor_views.hpp.
  template <class T>
  [[nodiscard]] FlatView<Element<T>> flat() const;

  /// Returns a view of rows [first, first + count).
  [[nodiscard]] BasicTensor row_range(std::int64_t first, std::int64_t count) const {
    return {from(first * columns_), type_, count, columns_};
  }
  /// Returns a view of elements [first, first + count) as one row.
  [[nodiscard]] BasicTensor elements(std::int64_t first, std::int64_t count) const {
    return {from(first), type_, 1, count};
  }

 private:
  [[nodiscard]] Void* from(std::int64_t element) const {
    return static_cast<Element<std::byte>*>(data_) + static_cast<std::size_t>(element) * size_of(type_);
  }

  Void* data_ = nullptr;
  DType type_ = DType::fp32;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

/// A matrix that may be written.
using Tensor = BasicTensor<void>;
/// A matrix that is only read.
using ConstTensor = BasicTensor<const void>;

}  // namespace mylos
