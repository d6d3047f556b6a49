// Attention's backward pass on hosts, in tiles that stay in the core's own cache.
//
// A head is walked by blocks of keys, and within a block by 16 keys at a time against blocks of the queries
// that see them, so that the gradients of keys and values are whole sums of one product each. Scores are held
// transposed: a row for each key.
#include "attention_heads.hpp"
#include "lanes_exp2.hpp"

namespace mylos {
namespace {

// Fixed, because they order the sums.
constexpr std::int64_t key_block = 64;
constexpr std::int64_t query_block = 256;

/// One worker's memory: a head's matrices in the formats of the products, its gradients, and a block's
/// scores.
template <class Words>
struct BackwardMemory {
  using Element = typename Words::Element;
  using Word = typename Words::Word;

  BackwardMemory(const AttentionShape& shape, std::byte* workspace) : pieces(workspace) {
    const std::int64_t rows = padded_rows(shape.length);
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    query_stride = rows + lanes::count;  // keeps the words of a column out of each other's cache sets
    transposed_queries = pieces.take<Word>(columns / Words::per_word * query_stride);
    transposed_d_output = pieces.take<Word>(columns / Words::per_word * query_stride);
    queries = pieces.take_head<Words>(shape.length, shape.head_width);
    keys = pieces.take_head<Words>(shape.length, shape.head_width);
    d_output = pieces.take_head<Words>(shape.length, shape.head_width);
    values = pieces.take<Element>(rows * columns);
    log_sums = pieces.take<float>(rows);
    output_products = pieces.take<float>(rows);
    d_queries = pieces.take<float>(rows * columns);
    d_keys = pieces.take<float>(key_block * columns);
    d_values = pieces.take<float>(key_block * columns);
    scores = pieces.take<float>(tile_rows * query_block);
    score_gradients = pieces.take<Word>(key_block / Words::per_word * query_block);
    if constexpr (Words::per_word > 1) {
      d_probabilities = pieces.take<float>(tile_rows * query_block);
      rounded_scores = pieces.take<Element>(tile_rows * query_block);
      rounded_gradients = pieces.take<Element>(tile_rows * query_block);
    }
    factors = pieces.take<float>(key_block * query_block);
  }

  Pieces pieces;
  std::int64_t query_stride;
  Word* transposed_queries;
  Word* transposed_d_output;
  RowsAndColumns<Words> queries, keys, d_output;
  Element* values;
  float* log_sums;         // times log2(e); infinity in the padding, where it makes the probabilities 0
  float* output_products;  // o_i do_i
  float* d_queries;
  float* d_keys;
  float* d_values;
  float* scores;                     // [16 keys, query_block], then the probabilities
  Word* score_gradients;             // of a block of keys: words of two keys' elements (or one's) by query
  float* d_probabilities = nullptr;  // [16 keys, query_block]
  Element* rounded_scores = nullptr;
  Element* rounded_gradients = nullptr;
  float* factors;  // [key_block, query_block]: what dropout multiplies the probabilities with
};

/// One head's backward pass.
template <class T>
struct HeadBackward {
  using Words = WordsOf<T>;
  using Word = typename Words::Word;
  static constexpr int per_word = Words::per_word;

  const AttentionShape& shape;
  HeadRows<T> d_queries, d_keys, d_values;
  const DropoutMask& mask;
  std::int64_t first_mask_row;
  const BackwardMemory<Words>& memory;
  std::int64_t columns = padded_columns<Words>(shape.head_width);  // of the padded matrices
  std::int64_t result_columns = launch::ceiling_quotient(shape.head_width, lanes::count) * lanes::count;
  float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_width));

  /// A range of queries and of keys, both from a multiple of 16 on.
  struct Block {
    std::int64_t first_query, queries, first_key, keys;
  };

  /// The scores of 16 keys, row by row (query_block apart), with the queries that see them.
  struct Tile {
    std::int64_t first_query, queries;
    bool on_diagonal;
    float* scores;
    float* gradients;  // by the probabilities
    const float* factors;
    typename Words::Element* rounded_scores;
    typename Words::Element* rounded_gradients;
    Word* gradient_words;
  };

  void draw_factors(const Block& block) const {
    for (std::int64_t key = 0; key < key_block; key += 4) {
      mask.transposed_factors(first_mask_row + block.first_query, block.queries, block.first_key + key,
                              memory.factors + key * query_block, query_block);
    }
  }

  /// Rows of scores and of gradients by the probabilities become rows of elements: probabilities with
  /// dropout, and gradients by the scores; these also as words of neighbouring keys.
  void differentiate(const Tile& tile) const {
    const float to_exponent = binary_scale(shape);
    for (std::int64_t j = 0; j < tile_rows; j += per_word) {
      for (std::int64_t q = 0; q < tile.queries; q += lanes::count) {
        for (std::int64_t row = j; row < j + per_word; ++row) {
          const std::int64_t at = row * query_block + q;
          lanes::Floats s, d, log_sum, product;
          lanes::load(tile.scores + at, s);
          lanes::load(tile.gradients + at, d);
          lanes::load(memory.log_sums + tile.first_query + q, log_sum);
          lanes::load(memory.output_products + tile.first_query + q, product);
          lanes::Floats p = to_exponent * s - log_sum;
          lanes::exp2(p);
          if (q == 0 && tile.on_diagonal) keep_lanes(p, static_cast<int>(row), lanes::count, 0.0f);
          lanes::Floats dropped = p;
          if (mask.active()) {
            lanes::Floats factor;
            lanes::load(tile.factors + at, factor);
            dropped *= factor;
            d *= factor;
          }
          Words::store(dropped, tile.rounded_scores + at);
          Words::store(p * (d - product), tile.rounded_gradients + at);
        }
        if constexpr (per_word == 2) {
          const auto* pair = tile.rounded_gradients + j * query_block + q;
          interleave(pair, pair + query_block, tile.gradient_words + j / 2 * query_block + q);
        }
      }
    }
  }

  /// 16 keys, from key `key` of the block on, against the block's queries that see them.
  void tile(const Block& block, std::int64_t key) const {
    const std::int64_t first_key = block.first_key + key;
    const std::int64_t skip = std::max<std::int64_t>(0, first_key - block.first_query);
    const std::int64_t count = block.queries - skip;
    if (count <= 0) return;
    const std::int64_t first_query = block.first_query + skip;
    Tile now{};
    now.first_query = first_query;
    now.queries = count;
    now.on_diagonal = first_query == first_key;
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
    multiply<Words>(tile_rows, count, steps, memory.keys.from(first_key, columns),
                    memory.transposed_queries + first_query, memory.query_stride,
                    {now.scores, query_block, false});
    const RowsAndColumns<Words> values{memory.values, nullptr};
    multiply<Words>(tile_rows, count, steps, values.from(first_key, columns),
                    memory.transposed_d_output + first_query, memory.query_stride,
                    {now.gradients, query_block, false});
    differentiate(now);
    const bool add = block.first_query > block.first_key;
    const auto sum_over_queries = [&](const auto* by_query, const Word* matrix, float* sums) {
      multiply<Words>(tile_rows, result_columns, count / per_word,
                      ByRows<Word>{reinterpret_cast<const Word*>(by_query), query_block / per_word},
                      matrix + first_query / per_word * columns, columns,
                      {sums + key * columns, columns, add});
    };
    sum_over_queries(now.rounded_scores, memory.d_output.columns, memory.d_values);
    sum_over_queries(now.rounded_gradients, memory.queries.columns, memory.d_keys);
  }

  /// Adds the block's keys to the gradients of its queries.
  void add_to_queries(const Block& block) const {
    const auto add_keys = [&](std::int64_t query, std::int64_t rows, std::int64_t keys) {
      multiply<Words>(
          rows, result_columns, keys / per_word, BySteps<Word>{memory.score_gradients + query, query_block},
          memory.keys.columns + block.first_key / per_word * columns, columns,
          {memory.d_queries + (block.first_query + query) * columns, columns, block.first_key > 0});
    };
    std::int64_t query = 0;
    for (; query < block.queries; query += tile_rows) {
      const std::int64_t seen = block.first_query + query + tile_rows - block.first_key;
      if (seen >= block.keys) break;
      add_keys(query, tile_rows, seen);
    }
    if (query < block.queries) add_keys(query, block.queries - query, block.keys);
  }

  void run() const {
    const std::int64_t rows = padded_rows(shape.length);
    for (std::int64_t key = 0; key < rows; key += key_block) {
      const std::int64_t keys = std::min(key_block, rows - key);
      for (std::int64_t query = key; query < rows; query += query_block) {
        const Block block{query, std::min(query_block, rows - query), key, keys};
        if (mask.active()) draw_factors(block);
        for (std::int64_t first = 0; first < keys; first += tile_rows) tile(block, first);
        add_to_queries(block);
      }
      store_rows(memory.d_keys, columns, scale, d_keys, key, keys);
      store_rows(memory.d_values, columns, 1.0f, d_values, key, keys);
    }
    store_rows(memory.d_queries, columns, scale, d_queries, 0, rows);
  }
};

/// Fills the memory from a head's matrices.
template <class T, class Words>
void load_head(const AttentionShape& shape, const HeadRows<const T> (&qkv)[3],
               const HeadRows<const T>& output, const HeadRows<const T>& d_output, const float* log_sums,
               const BackwardMemory<Words>& memory) {
  fetch_first_rows(qkv[0]);
  fetch_first_rows(qkv[1]);
  memory.queries.pack(qkv[0]);
  fetch_first_rows(qkv[2]);
  memory.keys.pack(qkv[1]);
  fetch_first_rows(d_output);
  pack_rows<Words>(qkv[2], memory.values);
  fetch_first_rows(output);
  memory.d_output.pack(d_output);
  pack_transposed<Words>(qkv[0], memory.transposed_queries, memory.query_stride);
  pack_transposed<Words>(d_output, memory.transposed_d_output, memory.query_stride);
  for (std::int64_t i = 0; i < padded_rows(shape.length); ++i) {
    const bool real = i < shape.length;
    fetch_row(output, i + head_rows_ahead);
    const T* o = output.first + i * output.stride;
    const T* d_o = d_output.first + i * d_output.stride;
    memory.log_sums[i] = real ? 1.44269504f * log_sums[i] : Kokkos::Experimental::infinity_v<float>;
    memory.output_products[i] = HostRow{}.sum(
        real ? shape.head_width : 0, [=](std::int64_t c) { return to_float(o[c]) * to_float(d_o[c]); });
  }
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
  for_each_dealt_task(
      exec, "d_attention", shape.samples * shape.heads, workspace,
      BackwardMemory<Words>(shape, nullptr).pieces.bytes(), [=](std::int64_t head, std::byte* own) {
        const BackwardMemory<Words> memory(shape, own);
        const std::int64_t width = shape.width();
        const auto part = [&](auto* matrix, int number) {
          return rows_of_head(shape, matrix, 3 * width, head, number);
        };
        load_head<T>(shape, {part(qkv, 0), part(qkv, 1), part(qkv, 2)},
                     rows_of_head(shape, output, width, head), rows_of_head(shape, d_output, width, head),
                     log_sums + head * shape.length, memory);
        const HeadBackward<T> pass{shape, part(d_qkv, 0),      part(d_qkv, 1), part(d_qkv, 2),
                                   mask,  head * shape.length, memory};
        pass.run();
      });
}

}  // namespace

std::size_t attention_backward_workspace(const AttentionShape& shape) {
  return dispatch(shape.type, [&](auto type) {
    using Words = WordsOf<typename decltype(type)::type>;
    return static_cast<std::size_t>(most_workers()) * BackwardMemory<Words>(shape, nullptr).pieces.bytes();
  });
}

void attention_backward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv,
                        const Tensor& output, const float* log_sums, const Tensor& d_output,
                        const Tensor& d_qkv, const Dropout& dropout, void* workspace) {
  dispatch(shape.type, [&](auto type) {
    backward<typename decltype(type)::type>(exec, shape, qkv, output, log_sums, d_output, d_qkv, dropout,
                                            static_cast<std::byte*>(workspace));
  });
}

}  // namespace mylos
