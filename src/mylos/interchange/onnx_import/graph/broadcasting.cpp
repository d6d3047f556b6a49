#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"

#include <algorithm>

namespace mylos {

std::optional<std::int64_t> elements_of(const OnnxNumbers& dims, std::int64_t max) {
  std::int64_t size = 1;
  for (const std::int64_t extent : dims) {
    if (extent < 0 || (extent > 0 && size > max / extent)) return std::nullopt;
    size *= extent;
  }
  return size;
}

std::optional<OnnxNumbers> broadcast(const OnnxNumbers& a, const OnnxNumbers& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  OnnxNumbers result(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
    result[rank - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

std::size_t broadcast_index(const OnnxNumbers& result, const OnnxNumbers& dims, std::size_t i) {
  std::size_t index = 0;
  std::size_t step = 1;
  for (std::size_t back = 0; back < dims.size(); ++back) {
    const auto extent = static_cast<std::size_t>(result[result.size() - 1 - back]);
    const auto own = static_cast<std::size_t>(dims[dims.size() - 1 - back]);
    if (own > 1) index += i % extent * step;
    step *= own;
    i /= extent;
  }
  return index;
}

}  // namespace mylos
