// Convolutions by cuDNN on NVIDIA devices.
//
// The engine is the first one recommended by the library that fulfils our guarantees: sums in float and in a
// fixed order, products as in the definition (no Fourier transforms, no Winograd), floats in full precision
// (never TF32), and the workspace that was planned from the shape. The library recommends by rules, not by
// timing.
//
// For 16-bit operands it offers float results only for channels in multiples of 8, and only if another
// operation follows the convolution. So an operation that changes nothing is appended.
#include "mylos/device/cuda/engines/convolution_cudnn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/device/cuda/engines/cudnn_graph.hpp"

namespace mylos {
namespace {

using cudnn::Graph;
using cudnn::Matrix;
namespace frontend = cudnn::frontend;

/// The numbers of a graph's matrices. The frontend takes addresses in this order.
enum ConvolutionOperand : int { first, second, result, bias };

constexpr std::int64_t max_elements = (std::int64_t{1} << 31) - 1;  // cuDNN's engines count in 32 bits
constexpr std::int64_t max_workspace = std::int64_t{256} << 20;
/// Engines for float use channels first and copy all operands.
constexpr std::int64_t max_copied = std::int64_t{192} << 20;
constexpr std::int64_t scratch_bytes = std::int64_t{8} << 20;
/// The maximum number of partial sums over samples that are added at the end. 2 to 16 were observed, and 61
/// with few weights.
constexpr std::int64_t max_parts = 16;

/// The layout with channels last as cuDNN describes it: sizes in the order samples, channels, points.
struct ConvolutionLayout {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;

  ConvolutionLayout(std::int64_t rows, std::int64_t channels, const std::vector<std::int64_t>& extents)
      : sizes{rows, channels}, strides(extents.size() + 2) {
    sizes.insert(sizes.end(), extents.begin(), extents.end());
    strides[1] = 1;
    std::int64_t stride = channels;
    for (std::size_t axis = sizes.size() - 1; axis > 1; --axis) {
      strides[axis] = stride;
      stride *= sizes[axis];
    }
    strides[0] = stride;
  }

  template <class Attributes>
  Attributes& describe(Attributes& matrix, ConvolutionOperand number, DType type) const {
    return matrix.set_uid(number).set_dim(sizes).set_stride(strides).set_data_type(cudnn::data_type(type));
  }
};

/// A pass as a graph of cuDNN. cuDNN has planes and volumes; a line is a plane of one row.
class ConvolutionGraph {
 public:
  explicit ConvolutionGraph(const LibraryPass& pass)
      : pass_(pass),
        is_volume_(pass.map.from.extent[0] > 1 || pass.map.to.extent[0] > 1 || pass.map.kernel[0] > 1) {}

  void add_to(Graph& graph) const {
    const ConvolutionMap& map = pass_.map;
    switch (pass_.pass) {
      case ConvolutionPass::apply:
        return finish(graph, map.to.channels, grid(map.to),
                      graph.conv_fprop(input(graph, first, grid(map.from)), input(graph, second, weights()),
                                       attributes<frontend::graph::Conv_fprop_attributes>()));
      case ConvolutionPass::adjoint:
        return finish(graph, map.from.channels, grid(map.from),
                      graph.conv_dgrad(input(graph, first, grid(map.to)), input(graph, second, weights()),
                                       attributes<frontend::graph::Conv_dgrad_attributes>()));
      case ConvolutionPass::weights:
        return finish(
            graph, 0, weights(),
            graph.conv_wgrad(input(graph, second, grid(map.to)), input(graph, first, grid(map.from)),
                             attributes<frontend::graph::Conv_wgrad_attributes>()));
    }
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> axes(const Extents& extents) const {
    return {extents.begin() + (is_volume_ ? 0 : 1), extents.end()};
  }
  [[nodiscard]] ConvolutionLayout grid(const GridShape& shape) const {
    return {pass_.samples, shape.channels, axes(shape.extent)};
  }
  [[nodiscard]] ConvolutionLayout weights() const {
    return {pass_.map.to.channels, pass_.map.group_from(), axes(pass_.map.kernel)};
  }

  template <class Attributes>
  [[nodiscard]] Attributes attributes() const {
    Attributes all;
    all.set_name("convolution")
        .set_padding(axes(pass_.map.padding))
        .set_stride(axes(pass_.map.stride))
        .set_dilation(axes(pass_.map.dilation));
    return all;
  }

  [[nodiscard]] Matrix input(Graph& graph, ConvolutionOperand number, const ConvolutionLayout& layout) const {
    frontend::graph::Tensor_attributes matrix;
    layout.describe(matrix, number, pass_.type);
    return graph.tensor(matrix);
  }

  /// Turns the sums into the result: adds a bias, or converts to the result type.
  void finish(Graph& graph, std::int64_t channels, const ConvolutionLayout& layout, Matrix sums) const {
    frontend::graph::Pointwise_attributes last;
    if (pass_.bias || pass_.result != pass_.type) {
      sums->set_dim(layout.sizes).set_stride(layout.strides).set_data_type(frontend::DataType_t::FLOAT);
      if (pass_.bias) {
        const std::vector<std::int64_t> one_point(layout.sizes.size() - 2, 1);
        const Matrix values = input(graph, bias, {1, channels, one_point});
        sums = graph.pointwise(sums, values, last.set_mode(frontend::PointwiseMode_t::ADD));
      } else {
        sums = graph.pointwise(sums, last.set_mode(frontend::PointwiseMode_t::IDENTITY));
      }
    }
    layout.describe(sums->set_output(true), result, pass_.result);
  }

  const LibraryPass& pass_;
  bool is_volume_;
};

/// Returns the bytes of the copies of a sample's operands. In 16 bits their channels are padded to multiples
/// of 8.
std::int64_t copied_bytes(const LibraryPass& pass) {
  const auto bytes = [&](const GridShape& grid) {
    return grid.points() * ((grid.channels + 7) / 8 * 8) * static_cast<std::int64_t>(size_of(pass.type));
  };
  return bytes(pass.map.from) + bytes(pass.map.to);
}

/// Returns true if cuDNN is used for the pass. Its sums for 16-bit weights' gradients are correct for
/// channels in multiples of 8. It refuses most others, and computed something else for 4 channels to 8 on a
/// line (9.19 on an H100).
bool is_asked_for(const LibraryPass& pass) {
  if (pass.relu) return false;
  return pass.pass != ConvolutionPass::weights || pass.type == DType::fp32 ||
         (pass.map.from.channels % 8 == 0 && pass.map.to.channels % 8 == 0);
}

std::int64_t samples_together(const LibraryPass& pass) {
  if (!is_asked_for(pass)) return 0;
  std::int64_t max_samples = max_elements / std::max(pass.map.from.columns(), pass.map.to.columns());
  if (pass.type == DType::fp32)
    max_samples = std::min(max_samples, std::max<std::int64_t>(max_copied / copied_bytes(pass), 1));
  return std::min(pass.samples, max_samples);
}

/// Returns the planned workspace, from the shape alone. An engine that needs more is not used.
std::int64_t planned_bytes(const LibraryPass& pass) {
  const std::int64_t sums = pass.map.weight_count() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t wanted = samples_together(pass) * copied_bytes(pass) + max_parts * sums + scratch_bytes;
  return std::min(wanted, max_workspace);
}

cudnn::PlanRequest request_of(const LibraryPass& pass) {
  using enum frontend::NumericalNote_t;
  cudnn::PlanRequest request{
      .type = pass.type,
      .add = [&pass](Graph& graph) { ConvolutionGraph(pass).add_to(graph); },
      .operands = pass.bias ? bias + 1 : result + 1,
      .max_bytes = static_cast<std::size_t>(planned_bytes(pass)),
      .refused = {NONDETERMINISTIC, REDUCED_PRECISION_REDUCTION, DOWN_CONVERT_INPUTS, FFT, WINOGRAD,
                  WINOGRAD_TILE_4x4, WINOGRAD_TILE_6x6, WINOGRAD_TILE_13x13}};
  if (pass.type == DType::fp32) request.refused.push_back(TENSOR_CORE);  // they would multiply floats as TF32
  return request;
}

class CudnnConvolutionPlans final : public CudnnConvolution {
 public:
  [[nodiscard]] bool adds_bias(ConvolutionPass pass, DType type) const override {
    return pass != ConvolutionPass::weights && type != DType::fp32;
  }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) const override {
    return samples_together(pass);
  }
  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) const override {
    return static_cast<std::size_t>(planned_bytes(pass));
  }

  [[nodiscard]] bool run(CUstream_st* stream, const LibraryPass& pass, const LibraryOperands& operands,
                         void* workspace) override {
    if (!session_.start()) return false;
    // cuDNN's addresses are not const.
    std::array<void*, 4> addresses = {const_cast<void*>(operands.first), const_cast<void*>(operands.second),
                                      operands.result, const_cast<void*>(operands.bias)};
    if (std::any_of(addresses.begin(), addresses.end(), [](const void* address) {
          return reinterpret_cast<std::uintptr_t>(address) % 16 != 0;
        })) {
      return refuse(pass, "its operands do not lie at multiples of 16 bytes");
    }
    auto known = plans_.find(pass);
    if (known == plans_.end()) known = plans_.try_emplace(pass, session_.target(), request_of(pass)).first;
    cudnn::Plan& plan = known->second;
    if (plan.run(session_.target().handle, stream, addresses.data(), workspace)) return true;
    return refuse(pass, plan.refusal());
  }

  [[nodiscard]] std::string take_refusals() override { return session_.take_refusals(); }

 private:
  /// Reports a refusal once per shape, for any number of samples. Returns false.
  bool refuse(const LibraryPass& pass, const std::string& why) {
    LibraryPass shape = pass;
    shape.samples = 1;
    if (std::find(refused_.begin(), refused_.end(), shape) != refused_.end()) return false;
    refused_.push_back(shape);
    constexpr const char* names[] = {"a convolution", "a convolution's adjoint",
                                     "a convolution's gradient of weights"};
    session_.refuse(fmt::format("cuDNN refuses {}, {} to {}, {}: {}", names[static_cast<int>(pass.pass)],
                                describe(pass.map.from), describe(pass.map.to), name_of(pass.type),
                                why.substr(0, why.find('\n'))));
    return false;
  }

  cudnn::Session session_{"convolutions"};
  std::unordered_map<LibraryPass, cudnn::Plan, LibraryPassHash> plans_;  // destroyed before the session
  std::vector<LibraryPass> refused_;
};

}  // namespace

CudnnPlan plan_by_cudnn(const LibraryPass& pass, const CudnnDevice& device) {
  return cudnn::plan_without_device(device, request_of(pass));
}

std::unique_ptr<CudnnConvolution> make_cudnn_convolution() {
  return std::make_unique<CudnnConvolutionPlans>();
}

}  // namespace mylos
