// Dispatch from the element type of a dataset at run time to a type at compile time.
#pragma once

#include <utility>

#include "mylos/base/dtype_of.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::hdf5 {

/// Calls function(TypeTag<T>{}) with the type that `type` names. Throws Error for 16-bit floats.
template <class Function>
decltype(auto) dispatch(DType type, Function&& function) {
  switch (type) {
    case DType::uint8:
      return std::forward<Function>(function)(TypeTag<std::uint8_t>{});
    case DType::uint16:
      return std::forward<Function>(function)(TypeTag<std::uint16_t>{});
    case DType::uint32:
      return std::forward<Function>(function)(TypeTag<std::uint32_t>{});
    case DType::uint64:
      return std::forward<Function>(function)(TypeTag<std::uint64_t>{});
    case DType::int32:
      return std::forward<Function>(function)(TypeTag<std::int32_t>{});
    case DType::int64:
      return std::forward<Function>(function)(TypeTag<std::int64_t>{});
    case DType::fp32:
      return std::forward<Function>(function)(TypeTag<float>{});
    case DType::fp64:
      return std::forward<Function>(function)(TypeTag<double>{});
    default:
      fail_run(errors::internal, "{} is not stored in files", name_of(type));
  }
}

}  // namespace mylos::hdf5
