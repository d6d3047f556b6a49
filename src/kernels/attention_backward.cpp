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
    for (HeadFormats<Words>* matrix : {&queries, &d_output}) {
      *matrix = pieces.take_columns<Words>(shape.length, shape.head_width);
      matrix->transposed_stride = query_stride(shape);
      matrix->transposed = pieces.take<Word>(columns / Words::per_word * matrix->transposed_stride);
    }
    keys = pieces.take_rows_and_columns<Words>(shape.length, shape.head_width);
    values.rows = pieces.take<Element>(rows * columns);
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

  /// Keeps the words of a column out of each other's cache sets.
  static std::int64_t query_stride(const AttentionShape& shape) {
    return padded_rows(shape.length) + lanes::count;
  }

  Pieces pieces;
  HeadFormats<Words> queries, d_output;  // by columns and transposed
  HeadFormats<Words> keys;               // by rows and by columns
  HeadFormats<Words> values;             // by rows
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
  const HeadRows<const T> (&next)[5];  // matrices of the head that this thread probably takes next
  std::int64_t columns = padded_columns<Words>(shape.head_width);  // of the padded matrices
  std::int64_t result_columns = launch::ceiling_quotient(shape.head_width, lanes::count) * lanes::count;
  float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_width));
  float to_exponent = binary_scale(shape);

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

  /// Sixteen scores from `at` on of a key become probabilities with dropout; the result is the gradients by
  /// the scores.
  void differentiate(const Tile& tile, std::int64_t row, std::int64_t q, const lanes::Floats& log_sum,
                     const lanes::Floats& product, lanes::Floats& probabilities,
                     lanes::Floats& gradients) const {
    const std::int64_t at = row * query_block + q;
    lanes::load(tile.scores + at, probabilities);
    lanes::load(tile.gradients + at, gradients);
    probabilities = to_exponent * probabilities - log_sum;
    lanes::exp2(probabilities);
    if (q == 0 && tile.on_diagonal) lanes::keep(probabilities, static_cast<int>(row), lanes::count, 0.0f);
    if (!mask.active()) {
      gradients = probabilities * (gradients - product);
      return;
    }
    lanes::Floats factor;
    lanes::load(tile.factors + at, factor);
    gradients = probabilities * (gradients * factor - product);
    probabilities *= factor;
  }

  /// Rows of scores and of gradients by the probabilities become rows of elements: probabilities with
  /// dropout, and gradients by the scores; these also as words of neighbouring keys.
  void differentiate(const Tile& tile) const {
    for (std::int64_t j = 0; j < tile_rows; j += per_word) {
      for (std::int64_t q = 0; q < tile.queries; q += lanes::count) {
        lanes::Floats log_sum, product, p[per_word], d[per_word];
        lanes::load(memory.log_sums + tile.first_query + q, log_sum);
        lanes::load(memory.output_products + tile.first_query + q, product);
        for (int i = 0; i < per_word; ++i) differentiate(tile, j + i, q, log_sum, product, p[i], d[i]);
        const std::int64_t at = j * query_block + q;
        for (int i = 0; i < per_word; ++i) Words::store(p[i], tile.rounded_scores + at + i * query_block);
        if constexpr (per_word == 1) {
          Words::store(d[0], tile.rounded_gradients + at);
        } else {
          Words::store_pair(d[0], d[1], tile.rounded_gradients + at,
                            tile.rounded_gradients + at + query_block,
                            tile.gradient_words + j / 2 * query_block + q);
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
    const auto rows_ahead = [&](int matrix) {
      return block.first_query == block.first_key ? rows_to_come(next[matrix], first_key, tile_rows)
                                                  : RowsToCome{};
    };
    const std::int64_t steps = words_for<Words>(shape.head_width);
    multiply<Words>(tile_rows, count, steps, memory.keys.from(first_key, columns),
                    memory.queries.transposed + first_query, memory.queries.transposed_stride,
                    {now.scores, query_block, false}, rows_ahead(0));
    multiply<Words>(tile_rows, count, steps, memory.values.from(first_key, columns),
                    memory.d_output.transposed + first_query, memory.d_output.transposed_stride,
                    {now.gradients, query_block, false}, rows_ahead(1));
    differentiate(now);
    const bool add = block.first_query > block.first_key;
    const auto sum_over_queries = [&](const auto* by_query, const Word* matrix, float* sums,
                                      const RowsToCome& ahead) {
      multiply<Words>(tile_rows, result_columns, count / per_word,
                      ByRows<Word>{reinterpret_cast<const Word*>(by_query), query_block / per_word},
                      matrix + first_query / per_word * columns, columns,
                      {sums + key * columns, columns, add}, ahead);
    };
    sum_over_queries(now.rounded_scores, memory.d_output.columns, memory.d_values, rows_ahead(2));
    sum_over_queries(now.rounded_gradients, memory.queries.columns, memory.d_keys, rows_ahead(3));
  }

  /// Adds the block's keys to the gradients of its queries.
  void add_to_queries(const Block& block) const {
    RowsToCome ahead;
    if (block.first_query == block.first_key) ahead = rows_to_come(next[4], block.first_key, block.keys);
    const auto add_keys = [&](std::int64_t query, std::int64_t rows, std::int64_t keys) {
      multiply<Words>(
          rows, result_columns, keys / per_word, BySteps<Word>{memory.score_gradients + query, query_block},
          memory.keys.columns + block.first_key / per_word * columns, columns,
          {memory.d_queries + (block.first_query + query) * columns, columns, block.first_key > 0},
          ahead.part(rows));
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
        fetch_rows(d_keys, key);
        fetch_rows(d_values, key);
        add_to_queries(block);
      }
      store_rows(memory.d_keys, columns, scale, d_keys, key, keys);
      store_rows(memory.d_values, columns, 1.0f, d_values, key, keys);
    }
    fetch_rows(d_queries, 0);
    store_rows(memory.d_queries, columns, scale, d_queries, 0, rows);
  }
};

/// result[i] = a_i b_i for sixteen rows from `row` on; 0 where there are none.
template <class T>
void multiply_rows(const HeadRows<const T>& a, const HeadRows<const T>& b, std::int64_t row, float* result) {
  lanes::Floats products[tile_rows];
  for (int r = 0; r < tile_rows; ++r) {
    lanes::Floats sum = {};
    if (row + r < a.rows) {
      const T* x = a.first + (row + r) * a.stride;
      const T* y = b.first + (row + r) * b.stride;
      for (std::int64_t c = 0; c < a.columns; c += lanes::count) {
        lanes::Floats left, right;
        FloatWords::load(x + c, a.columns - c, left);
        FloatWords::load(y + c, a.columns - c, right);
        sum += left * right;
      }
    }
    products[r] = sum;
  }
  lanes::transpose(products);
  for (int r = 1; r < tile_rows; ++r) products[0] += products[r];
  lanes::store(products[0], result);
}

/// Fills the memory from a head's matrices.
template <class T, class Words>
void load_head(const AttentionShape& shape, const HeadRows<const T> (&qkv)[3],
               const HeadRows<const T>& output, const HeadRows<const T>& d_output, const float* log_sums,
               const BackwardMemory<Words>& memory) {
  fetch_rows(qkv[0], 0);
  fetch_rows(qkv[1], 0);
  pack_head<Words>(qkv[0], memory.queries);
  fetch_rows(qkv[2], 0);
  pack_head<Words>(qkv[1], memory.keys);
  fetch_rows(d_output, 0);
  pack_head<Words>(qkv[2], memory.values);
  fetch_rows(output, 0);
  pack_head<Words>(d_output, memory.d_output);
  for (std::int64_t row = 0; row < shape.length; row += tile_rows) {
    fetch_rows(output, row + tile_rows);
    multiply_rows(output, d_output, row, memory.output_products + row);
  }
  for (std::int64_t i = 0; i < padded_rows(shape.length); ++i) {
    memory.log_sums[i] =
        i < shape.length ? 1.44269504f * log_sums[i] : Kokkos::Experimental::infinity_v<float>;
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
        const std::int64_t next = std::min(head + 1, shape.samples * shape.heads - 1);
        const HeadRows<const T> next_matrices[] = {
            rows_of_head(shape, qkv, 3 * width, next, 0), rows_of_head(shape, qkv, 3 * width, next, 1),
            rows_of_head(shape, qkv, 3 * width, next, 2), rows_of_head(shape, output, width, next),
            rows_of_head(shape, d_output, width, next)};
        const HeadBackward<T> pass{shape, part(d_qkv, 0),      part(d_qkv, 1), part(d_qkv, 2),
                                   mask,  head * shape.length, memory,         next_matrices};
        pass.run();
      });
}

}  // namespace

std::size_t attention_backward_workspace(const AttentionShape& shape) {
  return dispatch(shape.type, [&](auto type) {
    using Words = WordsOf<typename decltype(type)::type>;
    return dealt_bytes(BackwardMemory<Words>(shape, nullptr).pieces.bytes());
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
