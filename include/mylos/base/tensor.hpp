// Tensor: a view of a matrix [rows, columns] with a run-time element type, row-major and contiguous, in
// device memory.
//
// A tensor does not own its memory (an Arena does) and is cheap to copy. Rows are samples or tokens, columns
// are features. A vector is a tensor of one row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

class Tensor {
 public:
  template <class T>
  using MatrixView = Kokkos::View<T**, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class T>
  using FlatView = Kokkos::View<T*, Kokkos::LayoutRight, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Tensor() = default;
  Tensor(void* data, DType type, std::int64_t rows, std::int64_t columns)
      : data_(data), type_(type), rows_(rows), columns_(columns) {}

  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t size() const { return rows_ * columns_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(type_); }
  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  [[nodiscard]] void* data() const { return data_; }

  /// Returns the elements as T*. Throws Error if the tensor has another element type.
  template <class T>
  [[nodiscard]] T* as() const {
    if (dtype_of<T> != type_) {
      fail_run("tensor holds {} and was read as {}", name_of(type_), name_of(dtype_of<T>));
    }
    return static_cast<T*>(data_);
  }
  template <class T>
  [[nodiscard]] MatrixView<T> matrix() const {
    return MatrixView<T>(as<T>(), static_cast<std::size_t>(rows_), static_cast<std::size_t>(columns_));
  }
  template <class T>
  [[nodiscard]] FlatView<T> flat() const {
    return FlatView<T>(as<T>(), static_cast<std::size_t>(size()));
  }

  /// Returns a view of rows [first, first + count).
  [[nodiscard]] Tensor row_range(std::int64_t first, std::int64_t count) const {
    auto* start =
        static_cast<std::byte*>(data_) + static_cast<std::size_t>(first * columns_) * size_of(type_);
    return {start, type_, count, columns_};
  }
  /// Returns a view of elements [first, first + count) as one row.
  [[nodiscard]] Tensor elements(std::int64_t first, std::int64_t count) const {
    return {static_cast<std::byte*>(data_) + static_cast<std::size_t>(first) * size_of(type_), type_, 1,
            count};
  }

 private:
  void* data_ = nullptr;
  DType type_ = DType::fp32;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace mylos
