// Fused attention by cuDNN on NVIDIA devices, through its C++ frontend, whose headers no other file sees.
#include "attention_cudnn.hpp"

#include <cuda_runtime_api.h>
#include <cudnn_frontend.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "cudnn_library.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/fused_attention.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the frontend declares it, and looks cuDNN's functions up in it
}  // namespace cudnn_frontend

namespace mylos {
namespace {

namespace frontend = cudnn_frontend;
using Matrix = std::shared_ptr<frontend::graph::Tensor_attributes>;

/// The numbers of a graph's matrices. The frontend takes addresses in their order.
enum Operand : std::int64_t { q, k, v, output, log_sums, d_output, d_q, d_k, d_v };

/// Addresses of operands; a forward pass has the first five.
using Addresses = std::array<void*, 9>;
constexpr int count_of(AttentionPass pass) {
  return pass == AttentionPass::forward ? log_sums + 1 : d_v + 1;
}

std::vector<std::int64_t> operands_of(AttentionPass pass) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count_of(pass)));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void check(frontend::error_t error) {
  if (error.is_bad()) fail_run("{}", error.get_message());
}

void check(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) fail_run("{}", frontend::detail::get_error_string(status));
}

std::int32_t own_compute_capability() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess)
    fail_run("the device does not say its compute capability");
  return major * 10 + minor;
}

std::vector<std::int64_t> as_vector(const fused_attention::Strides& strides) {
  return {strides.begin(), strides.end()};
}

/// Each head's values [samples, heads, length, head_width], where a token's row has `columns` values.
void lay_out(frontend::graph::Tensor_attributes& matrix, Operand number, const AttentionShape& shape,
             std::int64_t columns) {
  matrix.set_uid(number)
      .set_dim({shape.samples, shape.heads, shape.length, shape.head_width})
      .set_stride(as_vector(fused_attention::strides(shape, columns)));
}

/// A float for each head's row [samples, heads, length, 1]: the library's statistic is the natural logarithm
/// of the sum of exponentials, which is ours (cuDNN frontend, docs/operations/Attention.md).
void lay_out_log_sums(frontend::graph::Tensor_attributes& sums, const AttentionShape& shape) {
  sums.set_uid(log_sums)
      .set_data_type(frontend::DataType_t::FLOAT)
      .set_dim({shape.samples, shape.heads, shape.length, 1})
      .set_stride(as_vector(fused_attention::log_sum_strides(shape)));
}

Matrix input(frontend::graph::Graph& graph, Operand number, const AttentionShape& shape,
             std::int64_t columns) {
  frontend::graph::Tensor_attributes matrix;
  lay_out(matrix, number, shape, columns);
  return graph.tensor(matrix);
}

/// Token i sees tokens up to i.
template <class Attributes>
Attributes causal(const AttentionShape& shape) {
  Attributes attributes;
  attributes.set_name("attention")
      .set_attn_scale(1.0f / std::sqrt(static_cast<float>(shape.head_width)))
      .set_diagonal_alignment(frontend::DiagonalAlignment_t::TOP_LEFT)
      .set_diagonal_band_right_bound(0);
  return attributes;
}

void add_forward(frontend::graph::Graph& graph, const AttentionShape& shape) {
  const std::int64_t packed = 3 * shape.width();
  const auto [result, sums] = graph.sdpa(
      input(graph, q, shape, packed), input(graph, k, shape, packed), input(graph, v, shape, packed),
      causal<frontend::graph::SDPA_attributes>(shape).set_generate_stats(true));
  lay_out(result->set_output(true), output, shape, shape.width());
  lay_out_log_sums(sums->set_output(true), shape);
}

void add_backward(frontend::graph::Graph& graph, const AttentionShape& shape) {
  const std::int64_t packed = 3 * shape.width();
  frontend::graph::Tensor_attributes sums;
  lay_out_log_sums(sums, shape);
  const auto gradients = graph.sdpa_backward(
      input(graph, q, shape, packed), input(graph, k, shape, packed), input(graph, v, shape, packed),
      input(graph, output, shape, shape.width()), input(graph, d_output, shape, shape.width()),
      graph.tensor(sums),
      causal<frontend::graph::SDPA_backward_attributes>(shape).set_deterministic_algorithm(true));
  for (std::size_t i = 0; i < gradients.size(); ++i)
    lay_out(gradients[i]->set_output(true), static_cast<Operand>(d_q + i), shape, packed);
}

/// One pass for one shape, as the library will run it, or why it refuses to.
class Plan {
 public:
  /// For the device of `handle`; where there is none, for the one that is described.
  Plan(const AttentionShape& shape, AttentionPass pass, cudnnHandle_t handle, const CudnnDevice& device)
      : shape_(shape), pass_(pass) {
    try {
      build(handle, device);
    } catch (const std::exception& error) {  // ours, and the frontend's
      refusal_ = error.what();
    }
  }

  [[nodiscard]] bool is_for(const AttentionShape& shape, AttentionPass pass) const {
    return shape_ == shape && pass_ == pass;
  }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  [[nodiscard]] CudnnPlan description() const {
    CudnnPlan plan{.name = {}, .workspace_bytes = workspace_bytes_, .refusal = refusal_};
    if (refusal_.empty() && graph_.get_plan_name(plan.name).is_bad()) plan.name.clear();
    return plan;
  }

  /// False where it refuses, from then on for good.
  bool run(cudnnHandle_t handle, CUstream_st* stream, Addresses& addresses, void* workspace) {
    if (!refusal_.empty()) return false;
    try {
      check(frontend::detail::set_stream(handle, stream));
      check(graph_.execute(handle, addresses.data(), count_of(pass_), workspace));
    } catch (const std::exception& error) {
      refusal_ = error.what();
    }
    return refusal_.empty();
  }

 private:
  void build(cudnnHandle_t handle, const CudnnDevice& device) {
    const bool is_forward = pass_ == AttentionPass::forward;
    graph_.set_sm_version(device.compute_capability)
        .set_io_data_type(shape_.type == DType::fp16 ? frontend::DataType_t::HALF
                                                     : frontend::DataType_t::BFLOAT16)
        .set_intermediate_data_type(frontend::DataType_t::FLOAT)
        .set_compute_data_type(frontend::DataType_t::FLOAT);
    is_forward ? add_forward(graph_, shape_) : add_backward(graph_, shape_);
    check(graph_.validate());
    if (handle == nullptr) {
      auto properties = std::make_shared<frontend::DeviceProperties>();
      check(properties->deserialize({device.properties.begin(), device.properties.end()}));
      graph_.set_device_properties(std::move(properties));
      check(graph_.build_operation_graph());
    } else {
      check(graph_.build_operation_graph(handle));
    }
    const auto most = static_cast<std::int64_t>(is_forward ? fused_attention::forward_workspace(shape_)
                                                           : fused_attention::backward_workspace(shape_));
    check(graph_.create_execution_plans({frontend::HeurMode_t::A, frontend::HeurMode_t::FALLBACK}));
    graph_.deselect_workspace_greater_than(most);
    check(graph_.check_support());
    check(graph_.build_plans());
    if (graph_.get_variant_pack_uids_sorted() != operands_of(pass_)) fail_run("its operands are not ours");
    check(graph_.get_workspace_size(workspace_bytes_));
    if (workspace_bytes_ > most)
      fail_run("it wants {} bytes of workspace, and {} are planned", workspace_bytes_, most);
  }

  AttentionShape shape_;
  AttentionPass pass_;
  frontend::graph::Graph graph_;
  std::int64_t workspace_bytes_ = 0;
  std::string refusal_;
};

/// Address of the matrix whose rows start so many 16-bit values further on.
void* moved(const void* address, std::int64_t values) {
  return const_cast<std::uint16_t*>(static_cast<const std::uint16_t*>(address) + values);
}

class CudnnAttention final : public FusedAttention {
 public:
  CudnnAttention() = default;
  ~CudnnAttention() override {
    plans_.clear();
    if (handle_ != nullptr) frontend::detail::destroy_handle(handle_);
  }
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  bool forward(CUstream_st* stream, const AttentionShape& shape, const FusedForward& operands,
               void* workspace) override {
    Addresses addresses = packed(shape, operands.qkv);
    addresses[output] = operands.output;
    addresses[log_sums] = operands.log_sums;
    return run(stream, shape, AttentionPass::forward, addresses, workspace);
  }

  bool backward(CUstream_st* stream, const AttentionShape& shape, const FusedBackward& operands,
                void* workspace) override {
    const std::int64_t together = fused_attention::samples_at_a_time(shape);
    for (std::int64_t first = 0; first < shape.samples; first += together) {
      AttentionShape part = shape;
      part.samples = std::min(together, shape.samples - first);
      const std::int64_t values = first * shape.length * shape.width();
      Addresses addresses = packed(shape, moved(operands.qkv, 3 * values));
      addresses[output] = moved(operands.output, values);
      addresses[log_sums] = const_cast<float*>(operands.log_sums) + first * shape.heads * shape.length;
      addresses[d_output] = moved(operands.d_output, values);
      addresses[d_q] = moved(operands.d_qkv, 3 * values);
      addresses[d_k] = moved(addresses[d_q], shape.width());
      addresses[d_v] = moved(addresses[d_q], 2 * shape.width());
      if (!run(stream, part, AttentionPass::backward, addresses, workspace)) return false;
    }
    return true;
  }

  [[nodiscard]] std::string take_refusals() override { return std::exchange(refusals_, {}); }

 private:
  static Addresses packed(const AttentionShape& shape, const void* qkv) {
    Addresses addresses{};
    addresses[q] = moved(qkv, 0);
    addresses[k] = moved(qkv, shape.width());
    addresses[v] = moved(qkv, 2 * shape.width());
    return addresses;
  }

  bool run(CUstream_st* stream, const AttentionShape& shape, AttentionPass pass, Addresses& addresses,
           void* workspace) {
    if (!start()) return false;
    Plan& plan = plan_for(shape, pass);
    const bool was_refused = !plan.refusal().empty();
    if (plan.run(handle_, stream, addresses, workspace)) return true;
    if (!was_refused) refuse(shape, plan.refusal());
    return false;
  }

  /// Whether cuDNN is here and takes this device; tried once.
  bool start() {
    if (std::exchange(is_started_, true)) return handle_ != nullptr;
    try {
      const CudnnLibrary library = open_cudnn();
      if (library.handle == nullptr) fail_run("{}", library.missing);
      frontend::cudnn_dlhandle = library.handle;
      device_.compute_capability = own_compute_capability();
      check(frontend::detail::create_handle(&handle_));
    } catch (const std::exception& error) {
      handle_ = nullptr;
      refusals_ = fmt::format("attention goes without cuDNN: {}", error.what());
    }
    return handle_ != nullptr;
  }

  Plan& plan_for(const AttentionShape& shape, AttentionPass pass) {
    const auto found = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const auto& plan) { return plan->is_for(shape, pass); });
    if (found != plans_.end()) return **found;
    Plan& plan = *plans_.emplace_back(std::make_unique<Plan>(shape, pass, handle_, device_));
    if (!plan.refusal().empty()) refuse(shape, plan.refusal());
    return plan;
  }

  void refuse(const AttentionShape& shape, const std::string& why) {
    if (!refusals_.empty()) refusals_ += '\n';
    refusals_ +=
        fmt::format("cuDNN refuses attention of {} x {} tokens, {} heads of {}, {}: {}", shape.samples,
                    shape.length, shape.heads, shape.head_width, name_of(shape.type), why);
  }

  bool is_started_ = false;
  cudnnHandle_t handle_ = nullptr;
  CudnnDevice device_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::string refusals_;
};

}  // namespace

CudnnPlan plan_by_cudnn(const AttentionShape& shape, AttentionPass pass, const CudnnDevice& device) {
  const CudnnLibrary library = open_cudnn();
  if (library.handle == nullptr) return {.name = {}, .workspace_bytes = 0, .refusal = library.missing};
  frontend::cudnn_dlhandle = library.handle;
  return Plan(shape, pass, nullptr, device).description();
}

std::unique_ptr<FusedAttention> make_fused_attention() {
  if (open_cudnn().handle == nullptr) return nullptr;
  return std::make_unique<CudnnAttention>();
}

std::string describe_fused_attention() {
  const CudnnLibrary library = open_cudnn();
  return library.handle != nullptr ? "cuDNN " + cudnn_version_text(library.version) : library.missing;
}

}  // namespace mylos
