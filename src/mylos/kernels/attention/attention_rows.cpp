// Attention row by row, for devices whose GEMM engine has no batches, and as a reference for tests. It
// processes a few heads at a time, so that the probabilities in the workspace stay bounded.
#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/attention/attention_mask.hpp"
#include "mylos/kernels/attention/attention_on_device.hpp"
#include "mylos/kernels/launch/math.hpp"

namespace mylos {
namespace {

/// The maximum number of probabilities in memory, unless one head has more: 1 GiB of floats on a device,
/// where launches are expensive; 64 MiB on an emulated device.
constexpr std::int64_t max_probabilities = std::int64_t{1} << (memory_is_host ? 24 : 28);

std::int64_t heads_at_a_time(const AttentionShape& shape) {
  const std::int64_t fit = max_probabilities / (shape.length * shape.length);
  return std::clamp<std::int64_t>(fit, 1, shape.samples * shape.heads);
}

/// Some of the batch's heads, from first_head on. The number of a head is sample * heads + head.
template <class T>
struct Heads {
  const T* qkv;
  std::int64_t length;
  std::int64_t heads;  // of a sample
  std::int64_t head_width;
  std::int64_t first_head;
  bool causal;
  float scale;

  KOKKOS_FUNCTION std::int64_t width() const { return heads * head_width; }
  /// Return the number of tokens that token i sees, and the first token that sees it.
  KOKKOS_FUNCTION std::int64_t seen(std::int64_t i) const { return causal ? i + 1 : length; }
  KOKKOS_FUNCTION std::int64_t first_seeing(std::int64_t i) const { return causal ? i : 0; }
  /// Returns the offset of row i of head first_head + head in a matrix of `columns` columns.
  KOKKOS_FUNCTION std::int64_t start(std::int64_t head, std::int64_t i, std::int64_t columns) const {
    const std::int64_t number = first_head + head;
    return (number / heads * length + i) * columns + number % heads * head_width;
  }
  KOKKOS_FUNCTION const T* q(std::int64_t head, std::int64_t i) const {
    return qkv + start(head, i, 3 * width());
  }
  KOKKOS_FUNCTION const T* k(std::int64_t head, std::int64_t i) const { return q(head, i) + width(); }
  KOKKOS_FUNCTION const T* v(std::int64_t head, std::int64_t i) const { return q(head, i) + 2 * width(); }
};

template <class T>
Heads<T> heads_from(const AttentionShape& shape, const Tensor& qkv, std::int64_t first_head) {
  return {qkv.as<T>(),
          shape.length,
          shape.heads,
          shape.head_width,
          first_head,
          shape.causal,
          1.0f / std::sqrt(static_cast<float>(shape.head_width))};
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION float dot(const T* a, const T* b, std::int64_t count) {
  float sum = 0;
  for (std::int64_t c = 0; c < count; ++c) sum += to_float(a[c]) * to_float(b[c]);
  return sum;
}

/// Writes the dropout factors for a tile of a row's probabilities.
KOKKOS_FORCEINLINE_FUNCTION void factors_of(const DropoutMask& mask, std::int64_t row, std::int64_t first,
                                            std::int64_t width, float* factor) {
  if (mask.active()) {
    mask.factors(row, first, width, factor);
  } else {
    for_each_in_tile(width, [&](std::int64_t j) { factor[j] = 1.0f; });
  }
}

/// Computes probabilities[head, i, j] = dropout(p) for the j that i sees; the others are not used. log_sums:
/// the logs of the rows' sums of exponentials.
template <class T>
void find_probabilities(const Execution& exec, const Heads<T>& all, std::int64_t count,
                        const DropoutMask& mask, float* probabilities, float* log_sums) {
  for_each_row(
      exec, "attention_p", count * all.length, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t i = index % all.length;
        const std::int64_t number = all.first_head * all.length + index;
        const T* q = all.q(index / all.length, i);
        const T* k = all.k(index / all.length, 0);
        const std::int64_t stride = 3 * all.width();
        float* p = probabilities + index * all.length;
        const std::int64_t seen = all.seen(i);
        row.for_each(seen,
                     [=](std::int64_t j) { p[j] = all.scale * dot(q, k + j * stride, all.head_width); });
        const float largest = row.max(seen, [=](std::int64_t j) { return p[j]; });
        const float log_sum =
            largest + Kokkos::log(row.sum(seen, [=](std::int64_t j) { return math::exp(p[j] - largest); }));
        row.once([=]() { log_sums[number] = log_sum; });
        row.barrier();  // other threads wrote a part of the scores
        row.for_each_tile(seen, [=](std::int64_t first, std::int64_t width) {
          float factor[tile_width];
          factors_of(mask, number, first, width, factor);
          for (std::int64_t j = 0; j < width; ++j)
            p[first + j] = math::exp(p[first + j] - log_sum) * factor[j];
        });
      });
}

/// Recomputes the probabilities from the log sums, and computes d_scores = (dropout(d_p) - o_i do_i) p from
/// the dot products d_p = do_i v_j.
template <class T>
void find_d_scores(const Execution& exec, const Heads<T>& all, std::int64_t count, const float* log_sums,
                   const T* output, const T* d_output, const DropoutMask& mask, float* probabilities,
                   float* d_scores) {
  for_each_row(
      exec, "attention_ds", count * all.length, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t head = index / all.length;
        const std::int64_t i = index % all.length;
        const std::int64_t number = all.first_head * all.length + index;
        const float log_sum = log_sums[number];
        const T* q = all.q(head, i);
        const T* o = output + all.start(head, i, all.width());
        const T* d_o = d_output + all.start(head, i, all.width());
        const float output_dot =
            row.sum(all.head_width, [=](std::int64_t c) { return to_float(o[c]) * to_float(d_o[c]); });
        row.for_each_tile(all.seen(i), [=](std::int64_t first, std::int64_t width) {
          float factor[tile_width];
          factors_of(mask, number, first, width, factor);
          for (std::int64_t j = 0; j < width; ++j) {
            const float score = all.scale * dot(q, all.k(head, first + j), all.head_width);
            const float kept = math::exp(score - log_sum);
            const float d_p = dot(d_o, all.v(head, first + j), all.head_width);
            probabilities[index * all.length + first + j] = kept * factor[j];
            d_scores[index * all.length + first + j] = kept * (d_p * factor[j] - output_dot);
          }
        });
      });
}

template <class T>
void weigh_values(const Execution& exec, const Heads<T>& all, std::int64_t count, const float* probabilities,
                  T* output) {
  for_each_row(
      exec, "attention_pv", count * all.length, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t head = index / all.length;
        const std::int64_t i = index % all.length;
        const T* v = all.v(head, 0);
        const std::int64_t stride = 3 * all.width();
        const float* p = probabilities + index * all.length;
        T* out = output + all.start(head, i, all.width());
        row.for_each(all.head_width, [=](std::int64_t c) {
          float sum = 0;
          for (std::int64_t j = 0; j < all.seen(i); ++j) sum += p[j] * to_float(v[j * stride + c]);
          out[c] = from_float<T>(sum);
        });
      });
}

/// Computes d_q, d_k and d_v of every row, each as a sum over a row or a column of the probabilities or of
/// the scores' gradients.
template <class T>
void weigh_gradients(const Execution& exec, const Heads<T>& all, std::int64_t count,
                     const float* probabilities, const float* d_scores, const T* d_output, T* d_qkv) {
  for_each_row(
      exec, "d_attention", count * all.length, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t length = all.length;
        const std::int64_t head = index / length;
        const std::int64_t position = index % length;
        const std::int64_t width = all.width();
        const T* q = all.q(head, 0);
        const T* d_out = d_output + all.start(head, 0, width);
        const float* p = probabilities + head * length * length;
        const float* ds = d_scores + head * length * length;
        T* d = d_qkv + all.start(head, position, 3 * width);
        row.for_each(all.head_width, [=](std::int64_t c) {
          float d_q = 0;
          for (std::int64_t j = 0; j < all.seen(position); ++j)
            d_q += ds[position * length + j] * to_float(q[j * 3 * width + width + c]);
          float d_k = 0;
          float d_v = 0;
          for (std::int64_t i = all.first_seeing(position); i < length; ++i) {
            d_k += ds[i * length + position] * to_float(q[i * 3 * width + c]);
            d_v += p[i * length + position] * to_float(d_out[i * width + c]);
          }
          d[c] = from_float<T>(all.scale * d_q);
          d[width + c] = from_float<T>(all.scale * d_k);
          d[2 * width + c] = from_float<T>(d_v);
        });
      });
}

/// The workspace of the backward pass.
struct BackwardMemory {
  BackwardMemory(const AttentionShape& shape, void* workspace)
      : pieces(workspace),
        probabilities(pieces.take<float>(heads_at_a_time(shape) * shape.length * shape.length)),
        d_scores(pieces.take<float>(heads_at_a_time(shape) * shape.length * shape.length)) {}

  Pieces pieces;
  float* probabilities;
  float* d_scores;
};

template <class T>
void forward_by_rows(const Execution& exec, const AttentionShape& shape, const Tensor& qkv,
                     const Tensor& output, float* log_sums, const Dropout& dropout, float* probabilities) {
  const DropoutMask mask = mask_of_scores(shape, dropout);
  const std::int64_t number = shape.samples * shape.heads;
  const std::int64_t together = heads_at_a_time(shape);
  for (std::int64_t first = 0; first < number; first += together) {
    const std::int64_t count = std::min(together, number - first);
    const Heads<T> all = heads_from<T>(shape, qkv, first);
    find_probabilities<T>(exec, all, count, mask, probabilities, log_sums);
    weigh_values<T>(exec, all, count, probabilities, output.as<T>());
  }
}

template <class T>
void backward_by_rows(const Execution& exec, const AttentionShape& shape, const Tensor& qkv,
                      const Tensor& output, const float* log_sums, const Tensor& d_output,
                      const Tensor& d_qkv, const Dropout& dropout, void* workspace) {
  const DropoutMask mask = mask_of_scores(shape, dropout);
  const BackwardMemory memory(shape, workspace);
  const std::int64_t number = shape.samples * shape.heads;
  const std::int64_t together = heads_at_a_time(shape);
  for (std::int64_t first = 0; first < number; first += together) {
    const std::int64_t count = std::min(together, number - first);
    const Heads<T> all = heads_from<T>(shape, qkv, first);
    find_d_scores<T>(exec, all, count, log_sums, output.as<T>(), d_output.as<T>(), mask, memory.probabilities,
                     memory.d_scores);
    weigh_gradients<T>(exec, all, count, memory.probabilities, memory.d_scores, d_output.as<T>(),
                       d_qkv.as<T>());
  }
}

}  // namespace

namespace attention_by_rows {

std::size_t forward_workspace(const AttentionShape& shape) {
  return static_cast<std::size_t>(heads_at_a_time(shape) * shape.length * shape.length) * sizeof(float);
}

std::size_t backward_workspace(const AttentionShape& shape) {
  return BackwardMemory(shape, nullptr).pieces.bytes();
}

void forward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
             float* log_sums, const Dropout& dropout, void* workspace) {
  dispatch(shape.type, [&](auto type) {
    forward_by_rows<typename decltype(type)::type>(exec, shape, qkv, output, log_sums, dropout,
                                                   static_cast<float*>(workspace));
  });
}

void backward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
              const float* log_sums, const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
              void* workspace) {
  dispatch(shape.type, [&](auto type) {
    backward_by_rows<typename decltype(type)::type>(exec, shape, qkv, output, log_sums, d_output, d_qkv,
                                                    dropout, workspace);
  });
}

}  // namespace attention_by_rows

}  // namespace mylos
