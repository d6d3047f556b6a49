// Fused attention by cuDNN on NVIDIA devices, through its C++ frontend, whose headers only the files of cuDNN
// include.
#include "mylos/device/cuda/engines/attention_cudnn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/device/cuda/engines/cudnn_graph.hpp"

namespace mylos {
namespace {

using cudnn::Graph;
using cudnn::Matrix;
namespace frontend = cudnn::frontend;

/// The numbers of a graph's matrices. The frontend takes addresses in this order.
enum Operand : std::int64_t { q, k, v, output, log_sums, d_output, d_q, d_k, d_v };

/// The addresses of operands. A forward pass uses the first five.
using Addresses = std::array<void*, 9>;
constexpr int count_of(AttentionPass pass) {
  return pass == AttentionPass::forward ? log_sums + 1 : d_v + 1;
}

std::vector<std::int64_t> as_vector(const fused_attention::Strides& strides) {
  return {strides.begin(), strides.end()};
}

/// Describes the values of all heads, [samples, heads, length, head_width]; the row of a token has `columns`
/// values.
void lay_out(frontend::graph::Tensor_attributes& matrix, Operand number, const AttentionShape& shape,
             std::int64_t columns) {
  matrix.set_uid(number)
      .set_dim({shape.samples, shape.heads, shape.length, shape.head_width})
      .set_stride(as_vector(fused_attention::strides(shape, columns)));
}

/// Describes a float for each row of each head, [samples, heads, length, 1]. The library's statistic is the
/// natural logarithm of the sum of exponentials, like ours (cuDNN frontend, docs/operations/Attention.md).
void lay_out_log_sums(frontend::graph::Tensor_attributes& sums, const AttentionShape& shape) {
  sums.set_uid(log_sums)
      .set_data_type(frontend::DataType_t::FLOAT)
      .set_dim({shape.samples, shape.heads, shape.length, 1})
      .set_stride(as_vector(fused_attention::log_sum_strides(shape)));
}

Matrix input(Graph& graph, Operand number, const AttentionShape& shape, std::int64_t columns) {
  frontend::graph::Tensor_attributes matrix;
  lay_out(matrix, number, shape, columns);
  return graph.tensor(matrix);
}

/// Sets the causal mask: token i sees tokens up to i.
template <class Attributes>
Attributes causal(const AttentionShape& shape) {
  Attributes attributes;
  attributes.set_name("attention")
      .set_attn_scale(1.0f / std::sqrt(static_cast<float>(shape.head_width)))
      .set_diagonal_alignment(frontend::DiagonalAlignment_t::TOP_LEFT)
      .set_diagonal_band_right_bound(0);
  return attributes;
}

void add_forward(Graph& graph, const AttentionShape& shape) {
  const std::int64_t packed = 3 * shape.width();
  const auto [result, sums] = graph.sdpa(
      input(graph, q, shape, packed), input(graph, k, shape, packed), input(graph, v, shape, packed),
      causal<frontend::graph::SDPA_attributes>(shape).set_generate_stats(true));
  lay_out(result->set_output(true), output, shape, shape.width());
  lay_out_log_sums(sums->set_output(true), shape);
}

void add_backward(Graph& graph, const AttentionShape& shape, AttentionSums order) {
  const std::int64_t packed = 3 * shape.width();
  frontend::graph::Tensor_attributes sums;
  lay_out_log_sums(sums, shape);
  const auto gradients = graph.sdpa_backward(
      input(graph, q, shape, packed), input(graph, k, shape, packed), input(graph, v, shape, packed),
      input(graph, output, shape, shape.width()), input(graph, d_output, shape, shape.width()),
      graph.tensor(sums),
      causal<frontend::graph::SDPA_backward_attributes>(shape).set_deterministic_algorithm(
          order == AttentionSums::fixed_order));
  for (std::size_t i = 0; i < gradients.size(); ++i)
    lay_out(gradients[i]->set_output(true), static_cast<Operand>(d_q + i), shape, packed);
}

cudnn::PlanRequest request_of(const AttentionShape& shape, AttentionPass pass,
                              AttentionSums order = AttentionSums::fixed_order) {
  const bool is_forward = pass == AttentionPass::forward;
  return {.type = shape.type,
          .add =
              [&shape, is_forward, order](Graph& graph) {
                is_forward ? add_forward(graph, shape) : add_backward(graph, shape, order);
              },
          .operands = count_of(pass),
          .max_bytes = is_forward ? fused_attention::forward_workspace(shape)
                                  : fused_attention::backward_workspace(shape, order),
          .modes = {frontend::HeurMode_t::A, frontend::HeurMode_t::FALLBACK},
          .refused = {}};
}

/// A pass for a shape.
struct AttentionPlan {
  AttentionPlan(const cudnn::Target& target, const AttentionShape& its_shape, AttentionPass its_pass,
                AttentionSums order)
      : shape(its_shape), pass(its_pass), plan(target, request_of(its_shape, its_pass, order)) {}

  AttentionShape shape;
  AttentionPass pass;
  cudnn::Plan plan;
};

/// Returns the address of the matrix whose rows start `values` 16-bit values later. cuDNN's addresses are not
/// const.
void* offset_by(const void* address, std::int64_t values) {
  return const_cast<std::uint16_t*>(static_cast<const std::uint16_t*>(address) + values);
}

class CudnnAttentionPlans final : public CudnnAttention {
 public:
  explicit CudnnAttentionPlans(AttentionSums order) : order_(order) {}

  bool forward(CUstream_st* stream, const AttentionShape& shape, const FusedForward& operands,
               void* workspace) override {
    Addresses addresses = packed(shape, operands.qkv);
    addresses[output] = operands.output;
    addresses[log_sums] = operands.log_sums;
    return run(stream, shape, AttentionPass::forward, addresses, workspace);
  }

  bool backward(CUstream_st* stream, const AttentionShape& shape, const FusedBackward& operands,
                void* workspace) override {
    const std::int64_t together = fused_attention::samples_at_a_time(shape, order_);
    for (std::int64_t first = 0; first < shape.samples; first += together) {
      AttentionShape part = shape;
      part.samples = std::min(together, shape.samples - first);
      const std::int64_t values = first * shape.length * shape.width();
      Addresses addresses = packed(shape, offset_by(operands.qkv, 3 * values));
      addresses[output] = offset_by(operands.output, values);
      addresses[log_sums] = const_cast<float*>(operands.log_sums) + first * shape.heads * shape.length;
      addresses[d_output] = offset_by(operands.d_output, values);
      addresses[d_q] = offset_by(operands.d_qkv, 3 * values);
      addresses[d_k] = offset_by(addresses[d_q], shape.width());
      addresses[d_v] = offset_by(addresses[d_q], 2 * shape.width());
      if (!run(stream, part, AttentionPass::backward, addresses, workspace)) return false;
    }
    return true;
  }

  [[nodiscard]] std::string take_refusals() override { return session_.take_refusals(); }

 private:
  static Addresses packed(const AttentionShape& shape, const void* qkv) {
    Addresses addresses{};
    addresses[q] = offset_by(qkv, 0);
    addresses[k] = offset_by(qkv, shape.width());
    addresses[v] = offset_by(qkv, 2 * shape.width());
    return addresses;
  }

  bool run(CUstream_st* stream, const AttentionShape& shape, AttentionPass pass, Addresses& addresses,
           void* workspace) {
    if (!session_.start()) return false;
    cudnn::Plan& plan = plan_for(shape, pass);
    const bool was_refused = !plan.refusal().empty();
    if (plan.run(session_.target().handle, stream, addresses.data(), workspace)) return true;
    if (!was_refused) refuse(shape, plan.refusal());
    return false;
  }

  cudnn::Plan& plan_for(const AttentionShape& shape, AttentionPass pass) {
    const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const auto& known) {
      return known->shape == shape && known->pass == pass;
    });
    if (found != plans_.end()) return (*found)->plan;
    plans_.push_back(std::make_unique<AttentionPlan>(session_.target(), shape, pass, order_));
    cudnn::Plan& plan = plans_.back()->plan;
    if (!plan.refusal().empty()) refuse(shape, plan.refusal());
    return plan;
  }

  void refuse(const AttentionShape& shape, const std::string& why) {
    session_.refuse(fmt::format("cuDNN refuses attention of {} x {} tokens, {} heads of {}, {}: {}",
                                shape.samples, shape.length, shape.heads, shape.head_width,
                                name_of(shape.type), why));
  }

  AttentionSums order_;
  cudnn::Session session_{"attention"};
  std::vector<std::unique_ptr<AttentionPlan>> plans_;  // destroyed before the session
};

}  // namespace

CudnnPlan plan_by_cudnn(const AttentionShape& shape, AttentionPass pass, const CudnnDevice& device,
                        AttentionSums sums) {
  return cudnn::plan_without_device(device, request_of(shape, pass, sums));
}

std::unique_ptr<CudnnAttention> make_cudnn_attention(AttentionSums sums) {
  return std::make_unique<CudnnAttentionPlans>(sums);
}

}  // namespace mylos
