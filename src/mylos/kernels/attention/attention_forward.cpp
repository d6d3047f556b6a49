// Attention's forward pass on hosts: processes a tile of queries at a time against all keys that they see, in
// memory that stays in the core's private cache.
#include <cmath>
#include <limits>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/base/vector/vector_targets.hpp"
#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/attention/attention_mask.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/attention/attention_forward.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

#include "mylos/kernels/attention/attention_heads-inl.hpp"
#include "mylos/kernels/launch/binary_powers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

/// The memory of one worker: the keys and values of a head, a tile of queries, their scores and outputs.
template <class Words>
struct ForwardMemory {
  using Element = typename Words::Element;
  using Word = typename Words::Word;

  ForwardMemory(const AttentionShape& shape, std::byte* workspace) : pieces(workspace) {
    const std::int64_t rows = padded_rows(shape.length);
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    keys = pieces.take<Word>(columns / Words::per_word * transposed_stride(shape.length));
    values = pieces.take<Word>(rows / Words::per_word * columns);
    queries = pieces.take<Word>(tile_rows() * columns / Words::per_word);
    scores = pieces.take<float>(tile_rows() * rows);
    if constexpr (Words::per_word == 1) {
      probabilities = scores;
    } else {
      probabilities = pieces.take<Element>(tile_rows() * rows);
    }
    factors = pieces.take<float>(tile_rows() * rows);
    sums = pieces.take<float>(tile_rows());
    outputs = pieces.take<float>(tile_rows() * columns);
  }

  Pieces pieces;
  Word* keys;              // transposed
  Word* values;            // by columns
  Word* queries;           // rows of a tile
  float* scores;           // [tile_rows, padded_rows]
  Element* probabilities;  // the same memory as `scores` if elements are floats
  float* factors;          // of the probabilities
  float* sums;             // of a row's exponentials
  float* outputs;
};

/// The forward pass of one head.
template <class T>
struct HeadForward {
  using Words = WordsOf<T>;
  using Word = typename Words::Word;

  const AttentionShape& shape;
  HeadRows<const T> queries;
  HeadRows<T> output;
  float* log_sums;
  const DropoutMask& mask;
  std::int64_t first_mask_row;
  const ForwardMemory<Words>& memory;

  /// Returns the largest of a row of scores.
  static float largest_of(const float* scores, std::int64_t count) {
    const FloatTag all;
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    auto largest = hn::Set(all, lowest);
    for_each_vector(count, [&](auto d, std::int64_t c, auto lanes) HWY_ATTR {
      const auto value = first_lanes(d, hn::LoadU(d, scores + c), lanes, hn::Set(d, lowest));
      largest = hn::Max(largest, value);
    });
    return hn::ReduceMax(all, largest);
  }

  /// Replaces the first `count` scores by elements e^(scale (s - largest)) times the dropout factor, and the
  /// others up to the end of the row by 0. Returns the sum of the exponentials.
  template <bool drops>
  float exponentiate(std::int64_t row, std::int64_t count, std::int64_t end, float largest) const {
    const FloatTag all;
    const float to_exponent = binary_scale(shape);
    const std::int64_t at = row * padded_rows(shape.length);
    const float* scores = memory.scores + at;
    const float* factors = memory.factors + at;
    auto* probabilities = memory.probabilities + at;
    auto sum = hn::Zero(all);
    for_each_vector(count, [&](auto d, std::int64_t c, auto lanes) HWY_ATTR {
      const auto exponent =
          hn::MulSub(hn::Set(d, to_exponent), hn::LoadU(d, scores + c), hn::Set(d, to_exponent * largest));
      auto p = first_lanes(d, exp2(d, exponent), lanes, hn::Zero(d));
      sum = hn::Add(sum, p);
      if constexpr (drops) p = hn::Mul(p, hn::LoadU(d, factors + c));
      store(d, p, probabilities + c);
    });
    for (std::int64_t c = whole_vectors(count); c < end; c += lanes())
      store(all, hn::Zero(all), probabilities + c);
    return hn::ReduceSum(all, sum);
  }

  /// Writes the dropout factors of a tile of queries and `columns` keys.
  void draw_factors(std::int64_t first_query, std::int64_t columns) const {
    const std::int64_t stride = padded_rows(shape.length);
    for (std::int64_t r = 0; r < tile_rows(); ++r) {
      for (std::int64_t first = 0; first < columns; first += tile_width) {
        mask.factors(first_mask_row + first_query + r, first, std::min(tile_width, columns - first),
                     memory.factors + r * stride + first);
      }
    }
  }

  /// Processes a tile of queries, whose rows have been prefetched. Prefetches the rows of tile `next`.
  void tile(std::int64_t index, std::int64_t next) const {
    const std::int64_t first = index * tile_rows();
    // Causal: the diagonal crosses the last tile_rows() keys.
    const std::int64_t keys = shape.causal ? first + tile_rows() : padded_rows(shape.length);
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    const std::int64_t stride = padded_rows(shape.length);
    const std::int64_t rows = std::min(tile_rows(), shape.length - first);
    pack_rows<Words>(
        HeadRows<const T>{queries.first + first * queries.stride, queries.stride, rows, shape.head_width},
        memory.queries);
    prefetch_rows(queries, next * tile_rows());
    prefetch_rows(output, first);
    multiply<Words>(tile_rows(), keys, words_for<Words>(shape.head_width),
                    ByRows<Word>{memory.queries, columns / Words::per_word}, memory.keys,
                    transposed_stride(shape.length), {memory.scores, stride, false});
    if (mask.active()) draw_factors(first, keys);
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_width));
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t seen = shape.seen(first + r);
      const float largest = largest_of(memory.scores + r * stride, seen);
      const float sum = mask.active() ? exponentiate<true>(r, seen, keys, largest)
                                      : exponentiate<false>(r, seen, keys, largest);
      memory.sums[r] = sum;
      log_sums[first + r] = scale * largest + std::log(sum);
    }
    multiply<Words>(
        tile_rows(), whole_vectors(shape.head_width), keys / Words::per_word,
        ByRows<Word>{reinterpret_cast<const Word*>(memory.probabilities), stride / Words::per_word},
        memory.values, columns, {memory.outputs, columns, false});
    for (std::int64_t r = 0; r < rows; ++r)
      store_rows(memory.outputs + r * columns, columns, 1.0f / memory.sums[r], output, first + r, 1);
  }
};

/// Returns the number of parts into which a head's query tiles are divided, so that few heads occupy many
/// threads.
std::int64_t parts_of_head(const Execution& exec, const AttentionShape& shape) {
  const std::int64_t tiles = padded_rows(shape.length) / tile_rows();
  const std::int64_t wanted = launch::ceiling_quotient(2 * threads_of(exec), shape.samples * shape.heads);
  return std::min(wanted, launch::ceiling_quotient(tiles, 4));
}

template <class T>
std::size_t forward_bytes(const AttentionShape& shape) {
  return ForwardMemory<WordsOf<T>>(shape, nullptr).pieces.bytes();
}

template <class T>
void forward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv_tensor,
             const Tensor& output_tensor, float* log_sums, const Dropout& dropout, std::byte* workspace) {
  using Words = WordsOf<T>;
  const T* qkv = qkv_tensor.as<T>();
  T* output = output_tensor.as<T>();
  const DropoutMask mask = mask_of_scores(shape, dropout);
  const std::int64_t parts = parts_of_head(exec, shape);
  const std::int64_t tasks = shape.samples * shape.heads * parts;
  for_each_task(exec, "attention", tasks, workspace, forward_bytes<T>(shape),
                [=](std::int64_t task, std::byte* scratch) HWY_ATTR {
                  const std::int64_t head = task / parts;
                  const std::int64_t tiles = padded_rows(shape.length) / tile_rows();
                  const ForwardMemory<Words> memory(shape, scratch);
                  const auto part = [&](int number) HWY_ATTR {
                    return rows_of_head(shape, qkv, 3 * shape.width(), head, number);
                  };
                  pack_transposed<Words>(part(1), memory.keys, transposed_stride(shape.length));
                  prefetch_rows(part(0), task % parts * tile_rows());
                  pack_columns<Words>(part(2), memory.values);
                  const HeadForward<T> pass{shape,
                                            part(0),
                                            rows_of_head(shape, output, shape.width(), head),
                                            log_sums + head * shape.length,
                                            mask,
                                            head * shape.length,
                                            memory};
                  for (std::int64_t tile = task % parts; tile < tiles; tile += parts)
                    pass.tile(tile, tile + parts);
                });
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos {
namespace {

template <class T>
std::size_t forward_workspace(const AttentionShape& shape) {
  HWY_EXPORT_T(bytes_table, forward_bytes<T>);
  return bytes_of_workers(HWY_DYNAMIC_DISPATCH_T(bytes_table)(shape));
}

template <class T>
void run(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
         float* log_sums, const Dropout& dropout, void* workspace) {
  HWY_EXPORT_AND_DYNAMIC_DISPATCH_T(forward<T>)
  (exec, shape, qkv, output, log_sums, dropout, static_cast<std::byte*>(workspace));
}

}  // namespace

std::size_t attention_forward_workspace(const Engines& /*engines*/, const AttentionShape& shape) {
  return dispatch(shape.type, [&]<class T>(TypeTag<T>) { return forward_workspace<T>(shape); });
}

void attention_forward(const Execution& exec, const Engines& /*engines*/, const AttentionShape& shape,
                       const Tensor& qkv, const Tensor& output, float* log_sums, const Dropout& dropout,
                       void* workspace) {
  dispatch(shape.type,
           [&]<class T>(TypeTag<T>) { run<T>(exec, shape, qkv, output, log_sums, dropout, workspace); });
}

}  // namespace mylos
#endif
