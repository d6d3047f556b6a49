// Writes float results to a vector whose element type is known at run time, inside kernels.
#pragma once

#include "mylos/base/float16.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// A vector of any element type. The type is dispatched at each store, so use it where stores are rare
/// compared with the work before them.
class ResultVector {
 public:
  explicit ResultVector(const Tensor& tensor) : data_(tensor.data()), type_(tensor.type()) {}

  /// Sets the element to value, or adds value to it, and rounds once.
  KOKKOS_INLINE_FUNCTION void store(std::int64_t index, float value, bool accumulate) const {
    if (type_ == DType::fp32) {
      store_as(static_cast<float*>(data_) + index, value, accumulate);
    } else if (type_ == DType::fp16) {
      store_as(static_cast<half*>(data_) + index, value, accumulate);
    } else {
      store_as(static_cast<bfloat16*>(data_) + index, value, accumulate);
    }
  }

 private:
  template <class T>
  KOKKOS_INLINE_FUNCTION static void store_as(T* element, float value, bool accumulate) {
    *element = from_float<T>(accumulate ? to_float(*element) + value : value);
  }

  void* data_;
  DType type_;
};

}  // namespace mylos
