// Translates a pass of a convolution to oneDNN's shapes, and finds the code that oneDNN has for it.
#pragma once

#include <dnnl.hpp>

#include "mylos/base/alignment.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"

namespace mylos::onednn {

[[nodiscard]] dnnl::memory::data_type convolution_type(DType type);

/// The shapes of a pass for oneDNN. Leading axes of one point are omitted.
struct ConvolutionGeometry {
  explicit ConvolutionGeometry(const LibraryPass& pass) : map(pass.map), samples(pass.samples) {
    const auto is_point = [&](std::size_t axis) {
      return map.from.extent[axis] == 1 && map.to.extent[axis] == 1 && map.kernel[axis] == 1 &&
             map.padding[axis] == 0;
    };
    while (first_axis < 2 && is_point(first_axis)) ++first_axis;
    stride = with_axes({}, map.stride);
    padding = with_axes({}, map.padding);
    far_padding = with_axes({}, map.far_padding());
    dilation = with_axes({}, map.dilation);
    for (auto& step : dilation) --step;  // oneDNN counts the skipped points
  }

  [[nodiscard]] dnnl::memory::desc grid(const GridShape& grid, DType type) const {
    constexpr dnnl::memory::format_tag tags[] = {
        dnnl::memory::format_tag::ndhwc, dnnl::memory::format_tag::nhwc, dnnl::memory::format_tag::nwc};
    return {with_axes({samples, grid.channels}, grid.extent), convolution_type(type), tags[first_axis]};
  }
  /// Returns the descriptor of our layout.
  [[nodiscard]] dnnl::memory::desc weights(DType type) const {
    constexpr dnnl::memory::format_tag plain[] = {
        dnnl::memory::format_tag::odhwi, dnnl::memory::format_tag::ohwi, dnnl::memory::format_tag::owi};
    constexpr dnnl::memory::format_tag grouped[] = {
        dnnl::memory::format_tag::godhwi, dnnl::memory::format_tag::gohwi, dnnl::memory::format_tag::gowi};
    return weights(type, map.groups == 1 ? plain[first_axis] : grouped[first_axis]);
  }
  [[nodiscard]] dnnl::memory::desc weights(DType type, dnnl::memory::format_tag tag) const {
    if (map.groups == 1)
      return {with_axes({map.to.channels, map.from.channels}, map.kernel), convolution_type(type), tag};
    return {with_axes({map.groups, map.group_to(), map.group_from()}, map.kernel), convolution_type(type),
            tag};
  }

  ConvolutionMap map;
  std::int64_t samples;
  std::size_t first_axis = 0;
  dnnl::memory::dims stride, padding, far_padding, dilation;

 private:
  [[nodiscard]] dnnl::memory::dims with_axes(dnnl::memory::dims dims, const Extents& extents) const {
    dims.insert(dims.end(), extents.begin() + static_cast<std::ptrdiff_t>(first_axis), extents.end());
    return dims;
  }
};

/// How oneDNN computes a pass; empty if it has no fast code.
struct ConvolutionCode {
  dnnl::primitive_desc convolution;
  dnnl::reorder::primitive_desc reorder;  // of the weights
  dnnl::reorder::primitive_desc adding_reorder;
  dnnl::memory::desc library_weights;
  bool is_supported = false;
  std::size_t scratch_bytes = 0;
  std::size_t code_bytes = 0;  // upper bound of what the primitives keep in memory

  [[nodiscard]] std::size_t bytes() const {
    return aligned_bytes(library_weights.get_size()) + aligned_bytes(scratch_bytes);
  }
};

/// Returns an empty result if oneDNN has only reference code for the shape, or none.
[[nodiscard]] ConvolutionCode find_convolution_code(const dnnl::engine& engine, const LibraryPass& pass);

}  // namespace mylos::onednn
