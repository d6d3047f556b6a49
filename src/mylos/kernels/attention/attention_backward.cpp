// Attention's backward pass on hosts, in tiles that stay in the core's private cache.
//
// The pass goes through a head in blocks of keys, and within a block processes one tile of keys at a time
// against blocks of the queries that see them. So the gradients of keys and values are complete sums of one
// GEMM each. Scores are stored transposed: one row per key.
#include <cmath>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/vector/vector_targets.hpp"
#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/attention/attention_mask.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/attention/attention_backward.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

#include "mylos/kernels/attention/attention_backward_memory-inl.hpp"
#include "mylos/kernels/attention/attention_heads-inl.hpp"
#include "mylos/kernels/launch/binary_powers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

/// The backward pass of one head.
template <class T>
struct HeadBackward {
  using Words = WordsOf<T>;
  using Word = typename Words::Word;
  static constexpr std::int64_t per_word = Words::per_word;

  const AttentionShape& shape;
  HeadRows<T> d_queries, d_keys, d_values;
  const DropoutMask& mask;
  std::int64_t first_mask_row;
  const BackwardMemory<Words>& memory;
  std::int64_t columns = padded_columns<Words>(shape.head_width);  // of the padded matrices
  std::int64_t result_columns = whole_vectors(shape.head_width);
  float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_width));
  float to_exponent = binary_scale(shape);

  /// The scores of a range of queries and a range of keys. Both start at a multiple of tile_rows().
  struct ScoreBlock {
    std::int64_t first_query, queries, first_key, keys;
  };

  /// The scores of a tile of keys and the queries that see them, one row per key, query_block apart.
  struct Tile {
    std::int64_t first_query, queries;
    std::int64_t keys;  // without the padding
    bool on_diagonal;
    float* scores;
    float* gradients;  // with respect to the probabilities
    const float* factors;
    typename Words::Element* rounded_scores;
    typename Words::Element* rounded_gradients;
    Word* gradient_words;
  };

  /// Returns the first query that sees a key.
  std::int64_t first_query_of(std::int64_t key) const { return shape.causal ? key : 0; }

  void draw_factors(const ScoreBlock& block) const {
    for (std::int64_t key = 0; key < key_block; key += 4) {
      mask.transposed_factors(first_mask_row + block.first_query, block.queries, block.first_key + key,
                              memory.factors + key * query_block, query_block);
    }
  }

  /// Turns a vector of scores of one key (row `row` of the tile), for queries from q on, into probabilities
  /// with dropout. Writes the gradients with respect to the scores to `gradients`.
  HWY_INLINE void differentiate(const Tile& tile, std::int64_t row, std::int64_t q, Floats& probabilities,
                                Floats& gradients) const {
    const FloatTag d;
    const std::int64_t at = row * query_block + q;
    const auto log_sum = hn::LoadU(d, memory.log_sums + tile.first_query + q);
    const auto row_dot = hn::LoadU(d, memory.output_dots + tile.first_query + q);
    probabilities = exp2(d, hn::MulSub(hn::Set(d, to_exponent), hn::LoadU(d, tile.scores + at), log_sum));
    if (tile.on_diagonal && q < row) {
      const auto unseen = static_cast<std::size_t>(std::min(row - q, lanes()));
      probabilities = hn::IfThenZeroElse(hn::FirstN(d, unseen), probabilities);
    }
    if (row >= tile.keys) probabilities = hn::Zero(d);
    gradients = hn::LoadU(d, tile.gradients + at);
    if (!mask.active()) {
      gradients = hn::Mul(probabilities, hn::Sub(gradients, row_dot));
      return;
    }
    const auto factor = hn::LoadU(d, tile.factors + at);
    gradients = hn::Mul(probabilities, hn::MulSub(gradients, factor, row_dot));
    probabilities = hn::Mul(probabilities, factor);
  }

  /// Turns rows of scores and of gradients of probabilities into rows of elements: probabilities with
  /// dropout, and gradients of scores. Stores the latter also as words of neighbouring keys.
  void differentiate(const Tile& tile) const {
    const FloatTag d;
    for (std::int64_t row = 0; row < tile_rows(); row += per_word) {
      for (std::int64_t q = 0; q < tile.queries; q += lanes()) {
        const std::int64_t at = row * query_block + q;
        Floats p, gradient;
        differentiate(tile, row, q, p, gradient);
        store(d, p, tile.rounded_scores + at);
        store(d, gradient, tile.rounded_gradients + at);
        if constexpr (per_word == 2) {
          Floats gradient_below;
          differentiate(tile, row + 1, q, p, gradient_below);
          store(d, p, tile.rounded_scores + at + query_block);
          store(d, gradient_below, tile.rounded_gradients + at + query_block);
          auto* words = tile.gradient_words + row / 2 * query_block + q;
          const auto* rounded = tile.rounded_gradients + at;
          hn::StoreU(Words::load_columns(rounded, rounded + query_block, lanes()), typename Words::Tag(),
                     words);
        }
      }
    }
  }

  /// Returns A by rows, from row `row` on.
  ByRows<Word> rows_from(const Word* words, std::int64_t row) const {
    return {words + row * columns / per_word, columns / per_word};
  }

  /// Processes a tile of keys, from key `key` of the block on, against the queries of the block that see
  /// them.
  void tile(const ScoreBlock& block, std::int64_t key) const {
    const std::int64_t first_key = block.first_key + key;
    const std::int64_t skip = std::max<std::int64_t>(0, first_query_of(first_key) - block.first_query);
    const std::int64_t count = block.queries - skip;
    if (count <= 0) return;
    const std::int64_t first_query = block.first_query + skip;
    Tile now{};
    now.first_query = first_query;
    now.queries = count;
    now.keys = shape.length - first_key;
    now.on_diagonal = shape.causal && first_query == first_key;
    now.scores = memory.scores + skip;
    now.gradient_words = memory.score_gradients + key / per_word * query_block + skip;
    now.factors = memory.factors + key * query_block + skip;
    if constexpr (per_word == 1) {
      now.gradients = now.rounded_gradients = now.gradient_words;
      now.rounded_scores = now.scores;
    } else {
      now.gradients = memory.d_probabilities + skip;
      now.rounded_gradients = memory.rounded_gradients + skip;
      now.rounded_scores = memory.rounded_scores + skip;
    }
    const std::int64_t steps = words_for<Words>(shape.head_width);
    multiply<Words>(tile_rows(), count, steps, rows_from(memory.key_rows, first_key),
                    memory.queries.transposed + first_query, transposed_stride(shape.length),
                    {now.scores, query_block, false});
    multiply<Words>(tile_rows(), count, steps, rows_from(memory.value_rows, first_key),
                    memory.d_output.transposed + first_query, transposed_stride(shape.length),
                    {now.gradients, query_block, false});
    differentiate(now);
    const bool add = block.first_query > first_query_of(block.first_key);
    const auto sum_over_queries = [&](const auto* by_query, const Word* matrix, float* sums) HWY_ATTR {
      multiply<Words>(tile_rows(), result_columns, count / per_word,
                      ByRows<Word>{reinterpret_cast<const Word*>(by_query), query_block / per_word},
                      matrix + first_query / per_word * columns, columns,
                      {sums + key * columns, columns, add});
    };
    sum_over_queries(now.rounded_scores, memory.d_output.columns, memory.d_values);
    sum_over_queries(now.rounded_gradients, memory.queries.columns, memory.d_keys);
  }

  /// Adds the contributions of the block's keys to the gradients of its queries.
  void add_to_queries(const ScoreBlock& block) const {
    const auto add_keys = [&](std::int64_t query, std::int64_t rows, std::int64_t keys) HWY_ATTR {
      multiply<Words>(
          rows, result_columns, keys / per_word, BySteps<Word>{memory.score_gradients + query, query_block},
          memory.keys + block.first_key / per_word * columns, columns,
          {memory.d_queries + (block.first_query + query) * columns, columns, block.first_key > 0});
    };
    std::int64_t query = 0;
    for (; query < block.queries; query += tile_rows()) {
      const std::int64_t seen =
          shape.causal ? block.first_query + query + tile_rows() - block.first_key : block.keys;
      if (seen >= block.keys) break;
      add_keys(query, tile_rows(), seen);
    }
    if (query < block.queries) add_keys(query, block.queries - query, block.keys);
  }

  void run() const {
    const std::int64_t rows = padded_rows(shape.length);
    for (std::int64_t key = 0; key < rows; key += key_block) {
      const std::int64_t keys = std::min(key_block, rows - key);
      for (std::int64_t query = first_query_of(key); query < rows; query += query_block) {
        const ScoreBlock block{query, std::min(query_block, rows - query), key, keys};
        if (mask.active()) draw_factors(block);
        for (std::int64_t first = 0; first < keys; first += tile_rows()) tile(block, first);
        prefetch_rows(d_keys, key);
        prefetch_rows(d_values, key);
        add_to_queries(block);
      }
      store_rows(memory.d_keys, columns, scale, d_keys, key, keys);
      store_rows(memory.d_values, columns, 1.0f, d_values, key, keys);
    }
    prefetch_rows(d_queries, 0);
    store_rows(memory.d_queries, columns, scale, d_queries, 0, rows);
  }
};

template <class T>
std::size_t backward_bytes(const AttentionShape& shape) {
  return BackwardMemory<WordsOf<T>>(shape, nullptr).pieces.bytes();
}

template <class T>
void backward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv_tensor,
              const Tensor& output_tensor, const float* log_sums, const Tensor& d_output_tensor,
              const Tensor& d_qkv_tensor, const Dropout& dropout, std::byte* workspace) {
  using Words = WordsOf<T>;
  const T* qkv = qkv_tensor.as<T>();
  const T* output = output_tensor.as<T>();
  const T* d_output = d_output_tensor.as<T>();
  T* d_qkv = d_qkv_tensor.as<T>();
  const DropoutMask mask = mask_of_scores(shape, dropout);
  for_each_task(
      exec, "d_attention", shape.samples * shape.heads, workspace, backward_bytes<T>(shape),
      [=](std::int64_t head, std::byte* scratch) HWY_ATTR {
        const BackwardMemory<Words> memory(shape, scratch);
        const std::int64_t width = shape.width();
        const auto part = [&](auto* matrix, int number)
                              HWY_ATTR { return rows_of_head(shape, matrix, 3 * width, head, number); };
        load_head<T>(shape, {part(qkv, 0), part(qkv, 1), part(qkv, 2)},
                     rows_of_head(shape, output, width, head), rows_of_head(shape, d_output, width, head),
                     log_sums + head * shape.length, memory);
        const HeadBackward<T> pass{shape, part(d_qkv, 0),      part(d_qkv, 1), part(d_qkv, 2),
                                   mask,  head * shape.length, memory};
        pass.run();
      });
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos {
namespace {

template <class T>
std::size_t backward_workspace(const AttentionShape& shape) {
  HWY_EXPORT_T(bytes_table, backward_bytes<T>);
  return bytes_of_workers(HWY_DYNAMIC_DISPATCH_T(bytes_table)(shape));
}

template <class T>
void run(const Execution& exec, const AttentionShape& shape, const Tensor& qkv, const Tensor& output,
         const float* log_sums, const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
         void* workspace) {
  HWY_EXPORT_AND_DYNAMIC_DISPATCH_T(backward<T>)
  (exec, shape, qkv, output, log_sums, d_output, d_qkv, dropout, static_cast<std::byte*>(workspace));
}

}  // namespace

std::size_t attention_backward_workspace(const Engines& /*engines*/, const AttentionShape& shape) {
  return dispatch(shape.type, [&]<class T>(TypeTag<T>) { return backward_workspace<T>(shape); });
}

void attention_backward(const Execution& exec, const Engines& /*engines*/, const AttentionShape& shape,
                        const Tensor& qkv, const Tensor& output, const float* log_sums,
                        const Tensor& d_output, const Tensor& d_qkv, const Dropout& dropout,
                        void* workspace) {
  dispatch(shape.type, [&]<class T>(TypeTag<T>) {
    run<T>(exec, shape, qkv, output, log_sums, d_output, d_qkv, dropout, workspace);
  });
}

}  // namespace mylos
#endif
