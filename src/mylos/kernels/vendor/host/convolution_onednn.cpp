// Convolutions by oneDNN's primitives.
//
// Weights are reordered at every run into a layout that oneDNN chooses: for our layout it has only reference
// code. A primitive's scratch memory may shrink when samples are added. So workspace_bytes() covers 1, 2, 4
// and so on samples; a number in between that needs more is run as such powers of two.
//
// A primitive descriptor may take megabytes. It is released as soon as its sizes are known, and created again
// with the primitive that a pass runs.
#include <dnnl.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <unordered_map>
#include <vector>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"
#include "mylos/kernels/vendor/host/convolution_onednn_code.hpp"
#include "mylos/kernels/vendor/host/host_engines.hpp"

namespace mylos {
namespace {

using dnnl::memory;

/// A primitive and its arguments.
class Operation {
 public:
  Operation() = default;
  explicit Operation(const dnnl::primitive_desc_base& descriptor) : primitive_(descriptor.get()) {}

  void bind(int argument, const memory& where) { arguments_.push_back({argument, where.get()}); }
  void run(const dnnl::stream& stream) const {
    // Uses the C function because its C++ wrapper allocates at every call.
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream.get(),
                                                   static_cast<int>(arguments_.size()), arguments_.data()),
                            "could not run a convolution");
  }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// The primitives of a pass, which share their memory descriptors.
class Primitives {
 public:
  Primitives(const dnnl::engine& engine, const LibraryPass& pass, const onednn::ConvolutionCode& code)
      : gradient_(pass.pass == ConvolutionPass::weights),
        adjoint_(pass.pass == ConvolutionPass::adjoint),
        library_weights_bytes_(aligned_bytes(code.library_weights.get_size())) {
    const onednn::ConvolutionGeometry shape(pass);
    const auto unbound = [&](const memory::desc& desc) { return memory(desc, engine, DNNL_MEMORY_NONE); };
    from_ = unbound(shape.grid(pass.map.from, adjoint_ ? pass.result : pass.type));
    to_ = unbound(shape.grid(pass.map.to, pass.pass == ConvolutionPass::apply ? pass.result : pass.type));
    weights_ = unbound(shape.weights(gradient_ ? DType::fp32 : pass.type));
    library_weights_ = unbound(code.library_weights);
    const memory::desc scratch({static_cast<std::int64_t>(code.scratch_bytes)}, memory::data_type::u8,
                               memory::format_tag::x);
    scratch_ = unbound(code.scratch_bytes == 0 ? memory::desc() : scratch);
    convolution_ = Operation(code.convolution);
    convolution_.bind(adjoint_ ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, from_);
    convolution_.bind(pass.pass == ConvolutionPass::apply ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, to_);
    convolution_.bind(gradient_ ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, library_weights_);
    convolution_.bind(DNNL_ARG_SCRATCHPAD, scratch_);
    if (pass.bias) {
      bias_ = unbound({{pass.map.to.channels}, onednn::convolution_type(pass.type), memory::format_tag::x});
      convolution_.bind(DNNL_ARG_BIAS, bias_);
    }
    reorder_ = reordering(code.reorder);
    if (gradient_) adding_reorder_ = reordering(code.adding_reorder);
  }

  void run(const dnnl::stream& stream, const LibraryOperands& operands, void* workspace) {
    const auto bind = [](memory& where, const void* address) {
      where.set_data_handle(const_cast<void*>(address));  // oneDNN's handles are not const
    };
    const void* const to = gradient_ ? operands.second : operands.result;
    bind(from_, adjoint_ ? operands.result : operands.first);
    bind(to_, adjoint_ ? operands.first : to);
    bind(weights_, gradient_ ? operands.result : operands.second);
    bind(library_weights_, workspace);
    bind(scratch_, static_cast<std::byte*>(workspace) + library_weights_bytes_);
    if (bias_) bind(bias_, operands.bias);
    if (!gradient_) reorder_.run(stream);
    convolution_.run(stream);
    if (gradient_) (operands.accumulate ? adding_reorder_ : reorder_).run(stream);
  }

 private:
  [[nodiscard]] Operation reordering(const dnnl::reorder::primitive_desc& descriptor) const {
    Operation reorder(descriptor);
    reorder.bind(DNNL_ARG_FROM, gradient_ ? library_weights_ : weights_);
    reorder.bind(DNNL_ARG_TO, gradient_ ? weights_ : library_weights_);
    reorder.bind(DNNL_ARG_SCRATCHPAD, scratch_);
    return reorder;
  }

  bool gradient_;
  bool adjoint_;
  std::size_t library_weights_bytes_;
  memory from_, to_, weights_, library_weights_, scratch_, bias_;
  Operation convolution_, reorder_, adding_reorder_;
};

class OneDnnConvolution final : public LibraryConvolution {
 public:
  [[nodiscard]] bool multiplies(DType type) const override {
    return type == DType::fp32 || (type == DType::bf16 && native_bfloat16_);
  }

  [[nodiscard]] bool adds_bias(ConvolutionPass pass, DType /*type*/) const override {
    return pass == ConvolutionPass::apply;
  }
  [[nodiscard]] bool accumulates() const override { return true; }
  [[nodiscard]] bool may_refuse() const override { return false; }

  [[nodiscard]] bool uses_winograd(const LibraryPass& /*pass*/) override { return false; }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    const std::size_t enough = workspace_bytes(pass);
    const auto fits = [&](std::int64_t samples) {
      const Known& sizes = known(with_samples(pass, samples));
      return sizes.is_supported && sizes.bytes <= enough;
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
          const Known& sizes = known(fewer);
          if (sizes.is_supported) bytes = std::max(bytes, sizes.bytes);
        }
      }
      whole.enough_bytes = bytes;
    }
    return whole.enough_bytes;
  }

  [[nodiscard]] std::size_t code_bytes(const LibraryPass& pass) override { return known(pass).code_bytes; }

  [[nodiscard]] bool run(const Execution& /*exec*/, const LibraryPass& pass, const LibraryOperands& operands,
                         void* workspace) override {
    Known& entry = known(pass);
    try {
      std::unique_ptr<Primitives>& primitives = entry.primitives;
      if (!primitives) {
        const onednn::ConvolutionCode code = onednn::find_convolution_code(engine_, pass);
        if (code.bytes() > entry.bytes) {
          fail_run(errors::internal, "oneDNN needs {} bytes for a convolution on {} threads; {} were planned",
                   code.bytes(), library_threads(), entry.bytes);
        }
        primitives = std::make_unique<Primitives>(engine_, pass, code);
      }
      primitives->run(stream_, operands, workspace);
    } catch (const dnnl::error& error) {
      fail_run(errors::library_failed, "oneDNN: {}", error.what());
    }
    return true;
  }

 private:
  static constexpr auto unknown = static_cast<std::size_t>(-1);

  struct Known {
    bool is_supported = false;
    std::size_t bytes = 0;
    std::size_t code_bytes = 0;
    std::size_t enough_bytes = unknown;
    std::unique_ptr<Primitives> primitives;  // created at first use
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
    auto& all = known_[library_threads() == 1 ? 0 : 1];
    const auto found = all.find(pass);
    if (found != all.end()) return found->second;
    Known& entry = all[pass];
    const onednn::ConvolutionCode code = onednn::find_convolution_code(engine_, pass);
    entry.is_supported = code.is_supported;
    entry.bytes = code.is_supported ? code.bytes() : 0;
    entry.code_bytes = code.code_bytes;
    return entry;
  }

  bool native_bfloat16_ = onednn::multiplies_bfloat16();
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  // For one thread, as in a parallel region, and for several, which need more scratch memory.
  std::array<std::unordered_map<LibraryPass, Known, LibraryPassHash>, 2> known_;
};

}  // namespace

std::unique_ptr<LibraryConvolution> make_onednn_convolution() {
  return std::make_unique<OneDnnConvolution>();
}

}  // namespace mylos
