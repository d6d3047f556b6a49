#include "mylos/kernels/convolution/convolution_map.hpp"

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

bool ConvolutionMap::is_gemm() const {
  const Extents one = {1, 1, 1};
  const Extents none = {0, 0, 0};
  return groups == 1 && kernel == one && stride == one && padding == none;
}

bool ConvolutionMap::adjoint_is_direct() const {
  if (padding == Extents{0, 0, 0}) return true;
  if (padding_kind == PaddingKind::reflect) return false;
  if (padding_kind == PaddingKind::zero) return true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t extent = from.extent[axis];
    if (padding[axis] == 0) continue;
    if (extent % stride[axis] != 0 || (to.extent[axis] - 1) * stride[axis] >= extent) return false;
  }
  return true;
}

ConvolutionMap ConvolutionMap::of_padded() const {
  ConvolutionMap padded = *this;
  for (std::size_t axis = 0; axis < 3; ++axis) padded.from.extent[axis] += 2 * padding[axis];
  padded.padding = {0, 0, 0};
  padded.padding_kind = PaddingKind::zero;
  return padded;
}

}  // namespace mylos
