// Convolutions by oneDNN's primitives.
//
// Weights go through a layout of oneDNN's own, into which they are brought at every run: with ours it has
// reference code only. A primitive's scratch memory may shrink when samples are added, so bytes that are
// enough for fewer are those of 1, 2, 4 and so on samples; a number between them that wants more is run as
// those.
#include <dnnl.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "library_convolution.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/pieces.hpp"
#include "onednn_instructions.hpp"

namespace mylos {
namespace {

using dnnl::memory;

memory::data_type convolution_type(DType type) {
  return type == DType::fp32 ? memory::data_type::f32 : memory::data_type::bf16;
}

/// A pass in oneDNN's words. Leading axes of one point are left out.
struct Geometry {
  explicit Geometry(const LibraryPass& pass) : map(pass.map), samples(pass.samples) {
    const auto is_point = [&](std::size_t axis) {
      return map.from.extent[axis] == 1 && map.to.extent[axis] == 1 && map.kernel[axis] == 1 &&
             map.padding[axis] == 0;
    };
    while (first_axis < 2 && is_point(first_axis)) ++first_axis;
    stride = with_axes({}, map.stride);
    padding = with_axes({}, map.padding);
    dilation = with_axes({}, map.dilation);
    for (auto& step : dilation) --step;  // oneDNN counts the points left out
  }

  [[nodiscard]] memory::desc grid(const GridShape& grid, DType type) const {
    constexpr memory::format_tag tags[] = {memory::format_tag::ndhwc, memory::format_tag::nhwc,
                                           memory::format_tag::nwc};
    return {with_axes({samples, grid.channels}, grid.extent), convolution_type(type), tags[first_axis]};
  }
  /// As ours lie.
  [[nodiscard]] memory::desc weights(DType type) const {
    constexpr memory::format_tag plain[] = {memory::format_tag::odhwi, memory::format_tag::ohwi,
                                            memory::format_tag::owi};
    constexpr memory::format_tag grouped[] = {memory::format_tag::godhwi, memory::format_tag::gohwi,
                                              memory::format_tag::gowi};
    return weights(type, map.groups == 1 ? plain[first_axis] : grouped[first_axis]);
  }
  [[nodiscard]] memory::desc weights(DType type, memory::format_tag tag) const {
    if (map.groups == 1)
      return {with_axes({map.to.channels, map.from.channels}, map.kernel), convolution_type(type), tag};
    return {with_axes({map.groups, map.group_to(), map.group_from()}, map.kernel), convolution_type(type),
            tag};
  }

  ConvolutionMap map;
  std::int64_t samples;
  std::size_t first_axis = 0;
  memory::dims stride, padding, dilation;

 private:
  [[nodiscard]] memory::dims with_axes(memory::dims dims, const Extents& extents) const {
    dims.insert(dims.end(), extents.begin() + static_cast<std::ptrdiff_t>(first_axis), extents.end());
    return dims;
  }
};

dnnl::primitive_attr with_own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

constexpr auto by_definition = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc describe_apply(const dnnl::engine& engine, const LibraryPass& pass,
                                                         const Geometry& shape) {
  const memory::desc from = shape.grid(pass.map.from, pass.type);
  const memory::desc to =
      shape.grid(pass.map.to, pass.pass == ConvolutionPass::apply ? pass.result : pass.type);
  const memory::desc weights = shape.weights(pass.type, memory::format_tag::any);
  dnnl::primitive_attr attributes = with_own_scratch();
  if (pass.relu) {
    dnnl::post_ops relu;
    relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(relu);
  }
  const memory::desc bias({pass.map.to.channels}, convolution_type(pass.type), memory::format_tag::x);
  constexpr auto kind = dnnl::prop_kind::forward_training;
  const auto operation =
      pass.bias ? dnnl::convolution_forward::desc(kind, by_definition, from, weights, bias, to, shape.stride,
                                                  shape.dilation, shape.padding, shape.padding)
                : dnnl::convolution_forward::desc(kind, by_definition, from, weights, to, shape.stride,
                                                  shape.dilation, shape.padding, shape.padding);
  return {operation, attributes, engine};
}

dnnl::primitive_desc describe(const dnnl::engine& engine, const LibraryPass& pass, const Geometry& shape) {
  const auto forward = describe_apply(engine, pass, shape);
  if (pass.pass == ConvolutionPass::apply) return forward;
  const memory::desc to = shape.grid(pass.map.to, pass.type);
  if (pass.pass == ConvolutionPass::adjoint) {
    const dnnl::convolution_backward_data::desc operation(
        by_definition, shape.grid(pass.map.from, pass.result),
        shape.weights(pass.type, memory::format_tag::any), to, shape.stride, shape.dilation, shape.padding,
        shape.padding);
    return dnnl::convolution_backward_data::primitive_desc(operation, with_own_scratch(), engine, forward);
  }
  const dnnl::convolution_backward_weights::desc operation(
      by_definition, shape.grid(pass.map.from, pass.type),
      shape.weights(DType::fp32, memory::format_tag::any), to, shape.stride, shape.dilation, shape.padding,
      shape.padding);
  return dnnl::convolution_backward_weights::primitive_desc(operation, with_own_scratch(), engine, forward);
}

/// Code that oneDNN makes for the shape; reference code takes a hundred times as long, and its products of
/// gathered rows gather whole samples.
bool is_fast(const dnnl::primitive_desc& descriptor) {
  const std::string_view name = descriptor.impl_info_str();
  return name.starts_with("jit") || name.starts_with("brg");
}

/// What oneDNN would do for a pass; empty where it has no fast code.
struct Description {
  dnnl::primitive_desc convolution;
  dnnl::reorder::primitive_desc reorder;  // of the weights
  dnnl::reorder::primitive_desc adding_reorder;
  memory::desc own_weights;
  bool is_served = false;
  std::size_t scratch_bytes = 0;

  [[nodiscard]] std::size_t bytes() const {
    return aligned_bytes(own_weights.get_size()) + aligned_bytes(scratch_bytes);
  }
};

Description describe(const dnnl::engine& engine, const LibraryPass& pass) {
  const Geometry shape(pass);
  const bool gradient = pass.pass == ConvolutionPass::weights;
  Description result;
  try {
    result.convolution = describe(engine, pass, shape);
    if (!is_fast(result.convolution)) return {};
    result.own_weights =
        gradient ? result.convolution.diff_weights_desc(0) : result.convolution.weights_desc(0);
    const memory::desc plain = shape.weights(gradient ? DType::fp32 : pass.type);
    const memory::desc& from = gradient ? result.own_weights : plain;
    const memory::desc& to = gradient ? plain : result.own_weights;
    dnnl::primitive_attr attributes = with_own_scratch();
    result.reorder = {engine, from, engine, to, attributes};
    if (gradient) {
      dnnl::post_ops sum;
      sum.append_sum();
      attributes.set_post_ops(sum);
      result.adding_reorder = {engine, from, engine, to, attributes};
      result.scratch_bytes = result.adding_reorder.scratchpad_desc().get_size();
    }
  } catch (const dnnl::error&) {  // it has none for this shape
    return {};
  }
  result.scratch_bytes = std::max({result.scratch_bytes, result.convolution.scratchpad_desc().get_size(),
                                   result.reorder.scratchpad_desc().get_size()});
  result.is_served = true;
  return result;
}

/// A primitive and where its arguments lie.
class Operation {
 public:
  Operation() = default;
  explicit Operation(const dnnl::primitive_desc_base& descriptor) : primitive_(descriptor.get()) {}

  void bind(int argument, const memory& where) { arguments_.push_back({argument, where.get()}); }
  void run(const dnnl::stream& stream) const {
    // The C function: its C++ wrapper allocates at every call.
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream.get(),
                                                   static_cast<int>(arguments_.size()), arguments_.data()),
                            "could not run a convolution");
  }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// The primitives of a pass, which share their memory's descriptions.
class Primitives {
 public:
  Primitives(const dnnl::engine& engine, const LibraryPass& pass, const Description& description)
      : gradient_(pass.pass == ConvolutionPass::weights),
        adjoint_(pass.pass == ConvolutionPass::adjoint),
        own_weights_bytes_(aligned_bytes(description.own_weights.get_size())) {
    const Geometry shape(pass);
    const auto unbound = [&](const memory::desc& desc) { return memory(desc, engine, DNNL_MEMORY_NONE); };
    from_ = unbound(shape.grid(pass.map.from, adjoint_ ? pass.result : pass.type));
    to_ = unbound(shape.grid(pass.map.to, pass.pass == ConvolutionPass::apply ? pass.result : pass.type));
    weights_ = unbound(shape.weights(gradient_ ? DType::fp32 : pass.type));
    own_weights_ = unbound(description.own_weights);
    const memory::desc scratch({static_cast<std::int64_t>(description.scratch_bytes)}, memory::data_type::u8,
                               memory::format_tag::x);
    scratch_ = unbound(description.scratch_bytes == 0 ? memory::desc() : scratch);
    convolution_ = Operation(description.convolution);
    convolution_.bind(adjoint_ ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, from_);
    convolution_.bind(pass.pass == ConvolutionPass::apply ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, to_);
    convolution_.bind(gradient_ ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, own_weights_);
    convolution_.bind(DNNL_ARG_SCRATCHPAD, scratch_);
    if (pass.bias) {
      bias_ = unbound({{pass.map.to.channels}, convolution_type(pass.type), memory::format_tag::x});
      convolution_.bind(DNNL_ARG_BIAS, bias_);
    }
    reorder_ = reordering(description.reorder);
    if (gradient_) adding_reorder_ = reordering(description.adding_reorder);
  }

  void run(const dnnl::stream& stream, const LibraryOperands& operands, void* workspace) {
    const auto bind = [](memory& where, const void* address) {
      where.set_data_handle(const_cast<void*>(address));  // oneDNN's handles know no const
    };
    const void* const to = gradient_ ? operands.second : operands.result;
    bind(from_, adjoint_ ? operands.result : operands.first);
    bind(to_, adjoint_ ? operands.first : to);
    bind(weights_, gradient_ ? operands.result : operands.second);
    bind(own_weights_, workspace);
    bind(scratch_, static_cast<std::byte*>(workspace) + own_weights_bytes_);
    if (bias_) bind(bias_, operands.bias);
    if (!gradient_) reorder_.run(stream);
    convolution_.run(stream);
    if (gradient_) (operands.accumulate ? adding_reorder_ : reorder_).run(stream);
  }

 private:
  [[nodiscard]] Operation reordering(const dnnl::reorder::primitive_desc& descriptor) const {
    Operation reorder(descriptor);
    reorder.bind(DNNL_ARG_FROM, gradient_ ? own_weights_ : weights_);
    reorder.bind(DNNL_ARG_TO, gradient_ ? weights_ : own_weights_);
    reorder.bind(DNNL_ARG_SCRATCHPAD, scratch_);
    return reorder;
  }

  bool gradient_;
  bool adjoint_;
  std::size_t own_weights_bytes_;
  memory from_, to_, weights_, own_weights_, scratch_, bias_;
  Operation convolution_, reorder_, adding_reorder_;
};

struct PassHash {
  std::size_t operator()(const LibraryPass& pass) const {
    std::size_t hash = static_cast<std::size_t>(pass.samples);
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

class OneDnnConvolution final : public LibraryConvolution {
 public:
  [[nodiscard]] bool multiplies(DType type) const override {
    return type == DType::fp32 || (type == DType::bf16 && native_bfloat16_);
  }

  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    const std::size_t enough = workspace_bytes(pass);
    const auto fits = [&](std::int64_t samples) {
      const Description& description = known(with_samples(pass, samples)).description;
      return description.is_served && description.bytes() <= enough;
    };
    if (fits(pass.samples)) return pass.samples;
    for (std::int64_t samples = floor_of(pass.samples); samples > 0; samples /= 2) {
      if (fits(samples)) return samples;
    }
    return 0;
  }

  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) override {
    Known& whole = known(pass);
    if (whole.enough_bytes == unknown) {
      std::size_t bytes = 0;
      for (std::int64_t samples = floor_of(pass.samples); samples > 0; samples /= 2) {
        LibraryPass fewer = with_samples(pass, samples);
        fewer.relu = false;
        for (const bool bias : {false, true}) {
          fewer.bias = bias && pass.pass == ConvolutionPass::apply;
          const Description& description = known(fewer).description;
          if (description.is_served) bytes = std::max(bytes, description.bytes());
        }
      }
      whole.enough_bytes = bytes;
    }
    return whole.enough_bytes;
  }

  void run(const LibraryPass& pass, const LibraryOperands& operands, void* workspace) override {
    Known& entry = known(pass);
    try {
      if (!entry.primitives)
        entry.primitives = std::make_unique<Primitives>(engine_, pass, entry.description);
      entry.primitives->run(stream_, operands, workspace);
    } catch (const dnnl::error& error) {
      fail_run("oneDNN: {}", error.what());
    }
  }

 private:
  static constexpr auto unknown = static_cast<std::size_t>(-1);

  struct Known {
    Description description;
    std::size_t enough_bytes = unknown;
    std::unique_ptr<Primitives> primitives;  // made at first use
  };

  static LibraryPass with_samples(const LibraryPass& pass, std::int64_t samples) {
    LibraryPass fewer = pass;
    fewer.samples = samples;
    return fewer;
  }
  static std::int64_t floor_of(std::int64_t samples) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(samples)));
  }
  [[nodiscard]] Known& known(const LibraryPass& pass) {
    const auto found = known_.find(pass);
    if (found != known_.end()) return found->second;
    Known& entry = known_[pass];
    entry.description = describe(engine_, pass);
    return entry;
  }

  bool native_bfloat16_ = onednn::multiplies_bfloat16();
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::unordered_map<LibraryPass, Known, PassHash> known_;
};

}  // namespace

std::unique_ptr<LibraryConvolution> make_onednn_convolution() {
  return std::make_unique<OneDnnConvolution>();
}

}  // namespace mylos
