#include "mylos/kernels/vendor/host/convolution_onednn_code.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "mylos/kernels/vendor/host/onednn_versions.hpp"

namespace mylos::onednn {
namespace {

using dnnl::memory;

dnnl::primitive_attr with_user_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool is_by_batches(const dnnl::primitive_desc_base& descriptor) {
  return std::string_view(descriptor.impl_info_str()).starts_with("brgconv:");
}

/// Returns true if the size of the code depends on the row. oneDNN 2.6 generates a kernel for every length of
/// a piece of a row, up to the complete row: 9 MiB of code and tables for a row of 2048 points, 390 MiB for
/// one of 262,144. Its other code for AVX-512 has a bounded size and, for rows of at least 128 points, the
/// same speed (Zen 4, float and bfloat16, one thread).
bool grows_with_the_row(const LibraryPass& pass, const dnnl::primitive_desc_base& descriptor) {
  constexpr std::int64_t longest_row = 64;
  return is_by_batches(descriptor) && pass.map.to.extent[2] > longest_row;
}

bool unrolls_the_row(const LibraryPass& pass, const dnnl::primitive_desc_base& descriptor) {
  return pass.pass == ConvolutionPass::weights &&
         std::string_view(descriptor.impl_info_str()).starts_with("jit:avx2");
}

/// GEMMs compute longer rows, and rows above `long_row` if the kernel reads many blocks of channels. oneDNN
/// allocates the tables of the code above before that code can be skipped: 256 bytes per point of the row, or
/// 2.9 KiB with many blocks. With this limit they stay below 6 MiB.
constexpr std::int64_t max_row = 16384;
constexpr std::int64_t long_row = 2048;

bool is_too_long(const LibraryPass& pass) {
  constexpr std::int64_t channels_of_block = 16;
  constexpr std::int64_t max_blocks = 32;
  const std::int64_t row = std::max(pass.map.from.extent[2], pass.map.to.extent[2]);
  const std::int64_t blocks =
      (pass.map.group_from() + channels_of_block - 1) / channels_of_block * pass.map.taps();
  return row > max_row || (row > long_row && blocks > max_blocks);
}

/// GEMMs compute larger samples too: oneDNN 2.6 divides by counts of 32 bits, which become 0.
bool is_too_large(const LibraryPass& pass) {
  constexpr std::int64_t max_numbers_of_sample = std::numeric_limits<std::int32_t>::max();
  return std::max(pass.map.from.columns(), pass.map.to.columns()) > max_numbers_of_sample;
}

constexpr auto by_definition = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc describe_apply(const dnnl::engine& engine, const LibraryPass& pass,
                                                         const ConvolutionGeometry& shape) {
  const memory::desc from = shape.grid(pass.map.from, pass.type);
  const memory::desc to =
      shape.grid(pass.map.to, pass.pass == ConvolutionPass::apply ? pass.result : pass.type);
  const memory::desc weights = shape.weights(pass.type, memory::format_tag::any);
  dnnl::primitive_attr attributes = with_user_scratch();
  if (pass.relu) {
    dnnl::post_ops relu;
    append_relu(relu);
    attributes.set_post_ops(relu);
  }
  const memory::desc bias({pass.map.to.channels}, convolution_type(pass.type), memory::format_tag::x);
  constexpr auto kind = dnnl::prop_kind::forward_training;
  const auto skips = [&](const dnnl::primitive_desc_base& descriptor) {
    return grows_with_the_row(pass, descriptor);
  };
  if (pass.bias) {
    return describe_forward_but<dnnl::convolution_forward>(skips, engine, attributes, kind, by_definition,
                                                           from, weights, bias, to, shape.stride,
                                                           shape.dilation, shape.padding, shape.far_padding);
  }
  return describe_forward_but<dnnl::convolution_forward>(skips, engine, attributes, kind, by_definition, from,
                                                         weights, to, shape.stride, shape.dilation,
                                                         shape.padding, shape.far_padding);
}

dnnl::primitive_desc describe(const dnnl::engine& engine, const LibraryPass& pass,
                              const ConvolutionGeometry& shape) {
  const auto forward = describe_apply(engine, pass, shape);
  if (pass.pass == ConvolutionPass::apply) return forward;
  const memory::desc to = shape.grid(pass.map.to, pass.type);
  if (pass.pass == ConvolutionPass::adjoint) {
    return describe_backward<dnnl::convolution_backward_data>(
        engine, with_user_scratch(), forward, by_definition, shape.grid(pass.map.from, pass.result),
        shape.weights(pass.type, memory::format_tag::any), to, shape.stride, shape.dilation, shape.padding,
        shape.far_padding);
  }
  return describe_backward<dnnl::convolution_backward_weights>(
      engine, with_user_scratch(), forward, by_definition, shape.grid(pass.map.from, pass.type),
      shape.weights(DType::fp32, memory::format_tag::any), to, shape.stride, shape.dilation, shape.padding,
      shape.far_padding);
}

/// Returns true if oneDNN generates code for the shape. Its reference code takes a hundred times as long, and
/// its GEMMs of gathered rows gather complete samples.
bool is_fast(const LibraryPass& pass, const dnnl::primitive_desc& descriptor) {
  if (grows_with_the_row(pass, descriptor)) return false;
  if (unrolls_the_row(pass, descriptor) && pass.map.to.extent[2] > long_row) return false;
  const std::string_view name = descriptor.impl_info_str();
  return name.starts_with("jit") || name.starts_with("brgconv") || name.starts_with("brdgmm");
}

/// Returns true if oneDNN writes beyond its scratch memory. The weights' gradient of a 1 x 1 kernel with
/// strides uses a copy of the input. For it, oneDNN (at least 2.6 to 3.12) requests less scratch memory than
/// it writes if there are fewer channels than in one of its blocks: 8 with AVX2, 16 with AVX-512
/// (https://github.com/uxlfoundation/oneDNN/issues/6035). With several threads this overwrites other scratch
/// memory.
bool overruns_its_scratch(const LibraryPass& pass) {
  constexpr std::int64_t max_block = 16;
  return pass.pass == ConvolutionPass::weights && pass.map.taps() == 1 &&
         pass.map.stride != Extents{1, 1, 1} && pass.map.group_from() < max_block;
}

/// Returns a bound of what a primitive and the reorders of its weights keep: generated code, tables,
/// descriptors. oneDNN does not report it. The bounds exceed the maximum over 900 random shapes with oneDNN
/// 2.6 (SSE4.1, AVX2, AVX-512, bfloat16), most of which took 40 to 100 KiB.
std::size_t code_bytes_of(const LibraryPass& pass, const dnnl::primitive_desc& descriptor) {
  constexpr std::size_t kibibyte = 1024;
  const auto row = static_cast<std::size_t>(pass.map.to.extent[2]);
  const auto taps_of_row = static_cast<std::size_t>(pass.map.kernel[2]);
  if (is_by_batches(descriptor)) return (128 + 4 * taps_of_row) * kibibyte;
  return (96 + (unrolls_the_row(pass, descriptor) ? row + row / 4 : 0)) * kibibyte;
}

}  // namespace

memory::data_type convolution_type(DType type) {
  return type == DType::fp32 ? memory::data_type::f32 : memory::data_type::bf16;
}

ConvolutionCode find_convolution_code(const dnnl::engine& engine, const LibraryPass& pass) {
  if (overruns_its_scratch(pass)) return {};
  if (is_too_long(pass) || is_too_large(pass)) return {};
  const ConvolutionGeometry shape(pass);
  const bool gradient = pass.pass == ConvolutionPass::weights;
  ConvolutionCode result;
  try {
    result.convolution = describe(engine, pass, shape);
    if (!is_fast(pass, result.convolution)) return {};
    result.library_weights =
        gradient ? result.convolution.diff_weights_desc(0) : result.convolution.weights_desc(0);
    const memory::desc plain = shape.weights(gradient ? DType::fp32 : pass.type);
    const memory::desc& from = gradient ? result.library_weights : plain;
    const memory::desc& to = gradient ? plain : result.library_weights;
    dnnl::primitive_attr attributes = with_user_scratch();
    result.reorder = {engine, from, engine, to, attributes};
    if (gradient) {
      dnnl::post_ops sum;
      sum.append_sum();
      attributes.set_post_ops(sum);
      result.adding_reorder = {engine, from, engine, to, attributes};
      result.scratch_bytes = result.adding_reorder.scratchpad_desc().get_size();
    }
  } catch (const dnnl::error&) {  // oneDNN does not support the shape
    return {};
  }
  result.scratch_bytes = std::max({result.scratch_bytes, result.convolution.scratchpad_desc().get_size(),
                                   result.reorder.scratchpad_desc().get_size()});
  result.code_bytes = code_bytes_of(pass, result.convolution);
  result.is_supported = true;
  return result;
}

}  // namespace mylos::onednn
