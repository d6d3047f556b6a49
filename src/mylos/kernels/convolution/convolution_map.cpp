#include "mylos/kernels/convolution/convolution_map.hpp"

#include <algorithm>

namespace mylos {

ConvolutionMap::ConvolutionMap(const ConvolutionShape& shape)
    : from(shape.transposed ? output_grid(shape) : shape.input),
      to(shape.transposed ? shape.input : output_grid(shape)),
      kernel(shape.kernel),
      stride(shape.stride),
      padding(shape.padding),
      padding_kind(shape.padding_kind),
      dilation(shape.dilation),
      groups(shape.groups) {}

Extents ConvolutionMap::far_padding() const {
  Extents result = padding;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t seen = (to.extent[axis] - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1;
    result[axis] = std::max(padding[axis], seen - from.extent[axis] - padding[axis]);
  }
  return result;
}

bool ConvolutionMap::is_gemm() const {
  const Extents one = {1, 1, 1};
  const Extents none = {0, 0, 0};
  return groups == 1 && kernel == one && stride == one && padding == none;
}

bool ConvolutionMap::adjoint_is_direct() const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t extent = from.extent[axis];
    if (padding[axis] == 0 || padding_kind[axis] == PaddingKind::zero) continue;
    if (padding_kind[axis] != PaddingKind::periodic) return false;
    if (extent % stride[axis] != 0 || (to.extent[axis] - 1) * stride[axis] >= extent) return false;
  }
  return true;
}

GridEdges ConvolutionMap::copied_edges() const {
  GridEdges copied = edges();
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (padding_kind[axis] == PaddingKind::zero) copied.padding[axis] = 0;
  return copied;
}

ConvolutionMap ConvolutionMap::of_padded() const {
  ConvolutionMap padded = *this;
  const GridEdges copied = copied_edges();
  padded.from = copied.padded();
  for (std::size_t axis = 0; axis < 3; ++axis) padded.padding[axis] -= copied.padding[axis];
  padded.padding_kind = PaddingKind::zero;
  return padded;
}

}  // namespace mylos
