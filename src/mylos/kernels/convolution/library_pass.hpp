// LibraryPass: one pass of a convolution over some samples, as a library of convolutions computes it. The
// library reads and writes our layout, channels last; sums are float and rounded once.
//
// Nothing here includes Kokkos: the files of a vendor's library do not either.
#pragma once

#include <cstddef>

#include "mylos/base/dtype.hpp"
#include "mylos/kernels/convolution/convolution_map.hpp"

namespace mylos {

enum class ConvolutionPass {
  apply,    ///< to = map(from) + bias
  adjoint,  ///< from = the adjoint of the map, applied to `to`
  weights,  ///< the gradient of the weights, from `from` and the gradient of `to`
};

/// The description of a pass by shapes and types. Padding is zero padding.
struct LibraryPass {
  ConvolutionPass pass;
  ConvolutionMap map;
  std::int64_t samples = 1;
  DType type = DType::fp32;    ///< of all inputs
  DType result = DType::fp32;  ///< `type` or fp32; fp32 for the weights' gradient
  bool bias = false;           ///< if adds_bias(); of `type`
  bool relu = false;           ///< only `apply` by oneDNN: negative results become zero

  friend bool operator==(const LibraryPass&, const LibraryPass&) = default;
};

struct LibraryOperands {
  const void* first;   ///< from; for the adjoint, to
  const void* second;  ///< the weights; for their gradient, to
  void* result;
  const void* bias = nullptr;
  bool accumulate = false;  ///< for the weights' gradient if accumulates(): add to the old values
};

struct LibraryPassHash {
  std::size_t operator()(const LibraryPass& pass) const {
    auto hash = static_cast<std::size_t>(pass.samples);
    const auto mix = [&](auto value) {
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15;
    };
    mix(pass.pass);
    mix(pass.type);
    mix(pass.map.from.channels);
    mix(pass.map.to.channels);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      mix(pass.map.from.extent[axis]);
      mix(pass.map.kernel[axis]);
      mix(pass.map.stride[axis]);
    }
    return hash ^ hash >> 32;
  }
};

}  // namespace mylos
