// From an element type of a file at run time to a type of numbers at compile time.
#pragma once

#include <utility>

#include "mylos/base/dispatch.hpp"
#include "mylos/io/hdf5.hpp"

namespace mylos::hdf5 {

/// Calls function(TypeTag<T>{}) with the numbers that `type` names. Throws Error for text, and for what has
/// no type here.
template <class Function>
decltype(auto) dispatch(ElementType type, Function&& function) {
  switch (type) {
    case ElementType::uint8:
      return std::forward<Function>(function)(TypeTag<std::uint8_t>{});
    case ElementType::uint16:
      return std::forward<Function>(function)(TypeTag<std::uint16_t>{});
    case ElementType::uint32:
      return std::forward<Function>(function)(TypeTag<std::uint32_t>{});
    case ElementType::uint64:
      return std::forward<Function>(function)(TypeTag<std::uint64_t>{});
    case ElementType::int32:
      return std::forward<Function>(function)(TypeTag<std::int32_t>{});
    case ElementType::int64:
      return std::forward<Function>(function)(TypeTag<std::int64_t>{});
    case ElementType::float32:
      return std::forward<Function>(function)(TypeTag<float>{});
    case ElementType::float64:
      return std::forward<Function>(function)(TypeTag<double>{});
    case ElementType::text:
    case ElementType::other:
      break;
  }
  fail_run("expected numbers, got {}", name_of(type));
}

}  // namespace mylos::hdf5
