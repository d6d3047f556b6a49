// Attention by batched GEMMs, some heads at a time, so that the scores in the workspace stay bounded.
//
// Heads are first copied to contiguous memory, and results are copied back: in the rows of tokens the
// distance between heads of different samples is not constant, and batches of one sample each would take as
// many launches as there are samples. The GEMMs compute complete squares; of causal attention half of each
// score matrix, the part above the diagonal, is not used.
#include <algorithm>
#include <type_traits>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/attention/attention_by_library.hpp"
#include "mylos/kernels/attention/attention_mask.hpp"
#include "mylos/kernels/attention/attention_on_device.hpp"
#include "mylos/kernels/attention/attention_score_rows.hpp"

namespace mylos {
namespace {

/// Returns the maximum number of scores in memory, unless one head has more: 1.5 GiB of floats on a device,
/// which is sufficient for all heads of 32 samples of GPT-2 124M; 64 MiB on an emulated device. A sixth if
/// a library is expected to compute attention, because the planned workspace includes both.
std::int64_t max_scores(const Engines& engines, const AttentionShape& shape) {
  if constexpr (memory_is_host) return std::int64_t{1} << 24;
  const bool expects_library = attention_by_library::forward_workspace(engines.libraries, shape) > 0;
  return expects_library ? std::int64_t{1} << 26 : std::int64_t{3} << 27;
}

/// Twice this number is the largest batch that libraries support, as the third extent of a grid.
constexpr std::int64_t max_heads = 32767;

std::int64_t heads_of_a_block(const Engines& engines, const AttentionShape& shape) {
  const std::int64_t fit = std::min(max_scores(engines, shape) / (shape.length * shape.length), max_heads);
  return std::clamp<std::int64_t>(fit, 1, shape.samples * shape.heads);
}

/// Calls body(block) for all heads.
template <class Body>
void for_each_block_of_heads(const Engines& engines, const AttentionShape& shape, const Body& body) {
  const std::int64_t number = shape.samples * shape.heads;
  const std::int64_t together = heads_of_a_block(engines, shape);
  for (std::int64_t first = 0; first < number; first += together)
    body(HeadBlock{first, std::min(together, number - first)});
}

std::int64_t head_elements(const AttentionShape& shape) {
  return shape.length * shape.head_width;
}
std::int64_t head_scores(const AttentionShape& shape) {
  return shape.length * shape.length;
}

/// Returns the GEMMs [length, head_width] by [length, head_width] transposed, with float results.
GemmBatch scores_of(const AttentionShape& shape, std::int64_t count) {
  GemmProblem one = linear_output(shape.length, shape.head_width, shape.length, shape.type);
  one.c = DType::fp32;
  return batch_of(one, count);
}

/// Returns the GEMMs [length, length] by [length, head_width]: sums over the scores' rows.
GemmBatch sums_over_rows(const AttentionShape& shape, std::int64_t count) {
  return batch_of(linear_input_gradient(shape.length, shape.head_width, shape.length, shape.type), count);
}

/// Returns the GEMMs [length, length] transposed by [length, head_width]: sums over the scores' columns.
GemmBatch sums_over_columns(const AttentionShape& shape, std::int64_t count) {
  return batch_of(
      linear_weight_gradient(shape.length, shape.head_width, shape.length, shape.type, shape.type), count);
}

std::size_t gemm_workspace(const Engines& engines, const AttentionShape& shape) {
  return std::max({engines.gemm.workspace_bytes(scores_of(shape, 1).one),
                   engines.gemm.workspace_bytes(sums_over_rows(shape, 1).one),
                   engines.gemm.workspace_bytes(sums_over_columns(shape, 1).one)});
}

/// The workspace of a block.
template <class T>
struct BlockMemory {
  /// head_matrices: the number of matrices [heads][length][head_width]; score_matrices: that of matrices
  /// [heads][length][length].
  BlockMemory(const Engines& engines, const AttentionShape& shape, int head_matrices, int score_matrices,
              void* workspace)
      : pieces(workspace),
        by_head(pieces.take<T>(head_matrices * heads_of_a_block(engines, shape) * head_elements(shape))),
        scores(pieces.take<float>(score_matrices * heads_of_a_block(engines, shape) * head_scores(shape))),
        weights(memory_of_weights(pieces, scores,
                                  score_matrices * heads_of_a_block(engines, shape) * head_scores(shape))),
        engine_workspace(pieces.take_bytes(gemm_workspace(engines, shape))) {}

  Pieces pieces;
  T* by_head;
  float* scores;
  T* weights;  // the same memory as `scores` if T is float
  std::byte* engine_workspace;

 private:
  static T* memory_of_weights(Pieces& pieces, float* scores, std::int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      return scores;
    } else {
      return pieces.take<T>(count);
    }
  }
};

template <class T>
BlockMemory<T> forward_memory(const Engines& engines, const AttentionShape& shape, void* workspace) {
  return {engines, shape, 3, 1, workspace};
}

template <class T>
BlockMemory<T> backward_memory(const Engines& engines, const AttentionShape& shape, void* workspace) {
  return {engines, shape, 5, 2, workspace};
}

/// Returns the rows of q, k and v inside those of qkv.
template <class T>
struct QkvRows {
  QkvRows(const AttentionShape& shape, const Tensor& qkv)
      : q{qkv.as<T>(), 3 * shape.width()},
        k{q.start + shape.width(), q.columns},
        v{k.start + shape.width(), q.columns} {}

  TokenRows<T> q, k, v;
};

template <class T>
void forward_in_blocks(const Execution& exec, const Engines& engines, const AttentionShape& shape,
                       const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                       void* workspace) {
  const auto memory = forward_memory<T>(engines, shape, workspace);
  const QkvRows<T> rows(shape, qkv);
  const DropoutMask mask = mask_of_scores(shape, dropout);
  for_each_block_of_heads(engines, shape, [&](const HeadBlock& block) {
    T* const q = memory.by_head;
    T* const k = q + block.count * head_elements(shape);
    T* const v = k + block.count * head_elements(shape);
    T* const o = q;  // q is not used after the scores
    to_heads(exec, shape, block, {rows.q, rows.k, rows.v}, q);
    engines.gemm.run_batched(exec, scores_of(shape, block.count), GemmOperands{q, k, memory.scores},
                             memory.engine_workspace);
    find_weights(exec, ScoreRows(shape, block, mask), memory.scores, memory.weights, log_sums);
    engines.gemm.run_batched(exec, sums_over_rows(shape, block.count), GemmOperands{memory.weights, v, o},
                             memory.engine_workspace);
    from_heads(exec, shape, block, o, {{output.as<T>(), shape.width()}});
  });
}

/// Uses three batches: the GEMMs q·kᵀ and do·vᵀ are one batch, and so are the sums d_k and d_v, because
/// their matrices are contiguous.
template <class T>
void backward_in_blocks(const Execution& exec, const Engines& engines, const AttentionShape& shape,
                        const Tensor& qkv, const Tensor& output, const float* log_sums,
                        const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
                        void* workspace) {
  const auto memory = backward_memory<T>(engines, shape, workspace);
  const QkvRows<T> rows(shape, qkv);
  const QkvRows<T> d_rows(shape, d_qkv);
  const DropoutMask mask = mask_of_scores(shape, dropout);
  for_each_block_of_heads(engines, shape, [&](const HeadBlock& block) {
    const std::int64_t elements = block.count * head_elements(shape);
    const std::int64_t scores = block.count * head_scores(shape);
    T* const q_and_do = memory.by_head;
    T* const k_and_v = q_and_do + 2 * elements;
    T* const d_k_and_d_v = k_and_v;  // k and v are not used after d_q
    T* const d_q = k_and_v + 2 * elements;
    T* const d_scores = memory.weights;  // of q·kᵀ; the weights follow
    to_heads(exec, shape, block, {rows.q, {d_output.as<T>(), shape.width()}, rows.k, rows.v}, q_and_do);
    engines.gemm.run_batched(exec, scores_of(shape, 2 * block.count),
                             GemmOperands{q_and_do, k_and_v, memory.scores}, memory.engine_workspace);
    find_weight_gradients(exec, ScoreRows(shape, block, mask),
                          WeightGradients<T>{.scores = memory.scores,
                                             .d_weights = memory.scores + scores,
                                             .log_sums = log_sums,
                                             .output = output.as<T>(),
                                             .d_output = q_and_do + elements,
                                             .d_scores = d_scores,
                                             .weights = memory.weights + scores});
    engines.gemm.run_batched(exec, sums_over_rows(shape, block.count), GemmOperands{d_scores, k_and_v, d_q},
                             memory.engine_workspace);
    engines.gemm.run_batched(exec, sums_over_columns(shape, 2 * block.count),
                             GemmOperands{d_scores, q_and_do, d_k_and_d_v}, memory.engine_workspace);
    from_heads(exec, shape, block, d_k_and_d_v, {d_rows.k, d_rows.v, d_rows.q});
  });
}

}  // namespace

namespace attention_by_gemm {

std::size_t forward_workspace(const Engines& engines, const AttentionShape& shape) {
  return dispatch(shape.type, [&]<class T>(TypeTag<T>) {
    return forward_memory<T>(engines, shape, nullptr).pieces.bytes();
  });
}

std::size_t backward_workspace(const Engines& engines, const AttentionShape& shape) {
  return dispatch(shape.type, [&]<class T>(TypeTag<T>) {
    return backward_memory<T>(engines, shape, nullptr).pieces.bytes();
  });
}

void forward(const Execution& exec, const Engines& engines, const AttentionShape& shape, const Tensor& qkv,
             const Tensor& output, float* log_sums, const Dropout& dropout, void* workspace) {
  dispatch(shape.type, [&]<class T>(TypeTag<T>) {
    forward_in_blocks<T>(exec, engines, shape, qkv, output, log_sums, dropout, workspace);
  });
}

void backward(const Execution& exec, const Engines& engines, const AttentionShape& shape, const Tensor& qkv,
              const Tensor& output, const float* log_sums, const Tensor& d_output, const Tensor& d_qkv,
              const Dropout& dropout, void* workspace) {
  dispatch(shape.type, [&]<class T>(TypeTag<T>) {
    backward_in_blocks<T>(exec, engines, shape, qkv, output, log_sums, d_output, d_qkv, dropout, workspace);
  });
}

}  // namespace attention_by_gemm

}  // namespace mylos
