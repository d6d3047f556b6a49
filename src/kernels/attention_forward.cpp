// Attention's forward pass on hosts: 16 queries at a time against all keys that they see, in tiles that stay
// in the core's own cache.
#include "attention_heads.hpp"
#include "lanes_exp2.hpp"

namespace mylos {
namespace {

/// One worker's memory: a head's keys and values, 16 queries, their scores and outputs.
template <class Words>
struct ForwardMemory {
  using Element = typename Words::Element;
  using Word = typename Words::Word;

  ForwardMemory(const AttentionShape& shape, std::byte* workspace) : pieces(workspace) {
    const std::int64_t rows = padded_rows(shape.length);
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    keys.transposed_stride =
        rows + lanes::count;  // keeps the words of a column out of each other's cache sets
    keys.transposed = pieces.take<Word>(columns / Words::per_word * keys.transposed_stride);
    values = pieces.take_columns<Words>(shape.length, shape.head_width);
    queries.rows = pieces.take<Element>(tile_rows * columns);
    scores = pieces.take<float>(tile_rows * rows);
    if constexpr (Words::per_word == 1) {
      probabilities = scores;
    } else {
      probabilities = pieces.take<Element>(tile_rows * rows);
    }
    factors = pieces.take<float>(tile_rows * rows);
    outputs = pieces.take<float>(tile_rows * columns);
  }

  Pieces pieces;
  HeadFormats<Words> keys;     // transposed
  HeadFormats<Words> values;   // by columns
  HeadFormats<Words> queries;  // rows of a tile
  float* scores;
  Element* probabilities;  // in the place of the scores where elements are floats
  float* factors;          // of the probabilities
  float* outputs;
};

/// Parts that a head's query tiles are dealt to, so that few heads keep many threads busy.
std::int64_t parts_of_head(const Execution& exec, const AttentionShape& shape) {
  const std::int64_t tiles = padded_rows(shape.length) / tile_rows;
  const std::int64_t wanted = launch::ceiling_quotient(2 * exec.concurrency(), shape.samples * shape.heads);
  return std::min(wanted, launch::ceiling_quotient(tiles, 4));
}

/// One head's forward pass.
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
  HeadRows<const T> next_keys, next_values;  // of the head that this thread probably takes next

  /// The largest of each row of scores [16, 16 tiles]; the last tile is cut by the diagonal.
  void find_largest(std::int64_t tiles, std::int64_t stride, lanes::Floats& result) const {
    lanes::Floats largest[tile_rows];
    const float* last = memory.scores + (tiles - 1) * lanes::count;
    for (int r = 0; r < tile_rows; ++r) {
      lanes::load(last + r * stride, largest[r]);
      lanes::keep(largest[r], 0, r + 1, -Kokkos::Experimental::infinity_v<float>);
    }
    for (const float* tile = memory.scores; tile != last; tile += lanes::count) {
      for (int r = 0; r < tile_rows; ++r) {
        lanes::Floats scores;
        lanes::load(tile + r * stride, scores);
        largest[r] = scores > largest[r] ? scores : largest[r];
      }
    }
    lanes::transpose(largest);
    result = largest[0];
    for (int r = 1; r < tile_rows; ++r) result = largest[r] > result ? largest[r] : result;
  }

  /// Rows of elements e^(scale (s - largest)) times the dropout factor, and each row's sum of exponentials.
  /// All rows of a tile before the next tile: their sums do not wait for each other.
  template <bool drops>
  void exponentiate(const lanes::Floats& largest, std::int64_t tiles, std::int64_t stride,
                    lanes::Floats& result) const {
    const float to_exponent = binary_scale(shape);
    const lanes::Floats shifts = to_exponent * largest;
    lanes::Floats sums[tile_rows] = {};
    const auto exponentials = [&](std::int64_t tile, int r, int end) {
      const std::int64_t at = r * stride + tile * lanes::count;
      lanes::Floats p;
      lanes::load(memory.scores + at, p);
      p = to_exponent * p - shifts[r];
      lanes::exp2(p);
      if (end < lanes::count) lanes::keep(p, 0, end, 0.0f);
      sums[r] += p;
      if constexpr (drops) {
        lanes::Floats factor;
        lanes::load(memory.factors + at, factor);
        p *= factor;
      }
      Words::store(p, memory.probabilities + at);
    };
    for (std::int64_t tile = 0; tile < tiles - 1; ++tile) {
      for (int r = 0; r < tile_rows; ++r) exponentials(tile, r, lanes::count);
    }
    for (int r = 0; r < tile_rows; ++r) exponentials(tiles - 1, r, r + 1);
    lanes::transpose(sums);
    result = sums[0];
    for (int r = 1; r < tile_rows; ++r) result += sums[r];
  }

  /// For 16 queries and `columns` keys.
  void draw_factors(std::int64_t first_query, std::int64_t columns, std::int64_t stride) const {
    for (std::int64_t r = 0; r < tile_rows; ++r) {
      for (std::int64_t first = 0; first < columns; first += tile_width) {
        mask.factors(first_mask_row + first_query + r, first, std::min(tile_width, columns - first),
                     memory.factors + r * stride + first);
      }
    }
  }

  /// Sixteen queries, whose rows have been asked for; asks for those of tile `next`.
  void tile(std::int64_t index, std::int64_t next) const {
    const std::int64_t first = index * tile_rows;
    const std::int64_t tiles = index + 1;  // of keys; the last one is cut by the diagonal
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    const std::int64_t stride = padded_rows(shape.length);
    const std::int64_t rows = std::min(tile_rows, shape.length - first);
    pack_head<Words>(
        HeadRows<const T>{queries.first + first * queries.stride, queries.stride, rows, shape.head_width},
        memory.queries);
    fetch_rows(queries, next * tile_rows);
    fetch_rows(output, first);
    multiply<Words>(tile_rows, tiles * tile_rows, words_for<Words>(shape.head_width),
                    memory.queries.from(0, columns), memory.keys.transposed, memory.keys.transposed_stride,
                    {memory.scores, stride, false}, rows_to_come(next_keys, first, tile_rows));
    lanes::Floats largest;
    lanes::Floats sums;
    find_largest(tiles, stride, largest);
    if (mask.active()) {
      draw_factors(first, tiles * lanes::count, stride);
      exponentiate<true>(largest, tiles, stride, sums);
    } else {
      exponentiate<false>(largest, tiles, stride, sums);
    }
    multiply<Words>(
        tile_rows, launch::ceiling_quotient(shape.head_width, lanes::count) * lanes::count,
        tiles * tile_rows / Words::per_word,
        ByRows<Word>{reinterpret_cast<const Word*>(memory.probabilities), stride / Words::per_word},
        memory.values.columns, columns, {memory.outputs, columns, false},
        rows_to_come(next_values, first, tile_rows));
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_width));
    for (int r = 0; r < static_cast<int>(rows); ++r) {
      log_sums[first + r] = scale * largest[r] + std::log(sums[r]);
      store_rows(memory.outputs + r * columns, columns, 1.0f / sums[r], output, first + r, 1);
    }
  }
};

template <class T>
void forward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv_tensor,
             const Tensor& output_tensor, float* log_sums, const Dropout& dropout, std::byte* workspace) {
  using Words = WordsOf<T>;
  const T* qkv = qkv_tensor.as<T>();
  T* output = output_tensor.as<T>();
  const DropoutMask mask = mask_of_scores(shape, dropout);
  const std::int64_t parts = parts_of_head(exec, shape);
  const std::int64_t tasks = shape.samples * shape.heads * parts;
  for_each_dealt_task(exec, "attention", tasks, workspace,
                      ForwardMemory<Words>(shape, nullptr).pieces.bytes(),
                      [=](std::int64_t task, std::byte* own) {
                        const std::int64_t head = task / parts;
                        const std::int64_t tiles = padded_rows(shape.length) / tile_rows;
                        const ForwardMemory<Words> memory(shape, own);
                        const auto part = [&](int number, std::int64_t ahead = 0) {
                          return rows_of_head(shape, qkv, 3 * shape.width(), head + ahead, number);
                        };
                        const std::int64_t next_head = std::min(task + 1, tasks - 1) / parts;
                        fetch_rows(part(1), 0);
                        fetch_rows(part(2), 0);
                        pack_head<Words>(part(1), memory.keys);
                        fetch_rows(part(0), task % parts * tile_rows);
                        pack_head<Words>(part(2), memory.values);
                        const HeadForward<T> pass{shape,
                                                  part(0),
                                                  rows_of_head(shape, output, shape.width(), head),
                                                  log_sums + head * shape.length,
                                                  mask,
                                                  head * shape.length,
                                                  memory,
                                                  part(1, next_head - head),
                                                  part(2, next_head - head)};
                        for (std::int64_t tile = task % parts; tile < tiles; tile += parts)
                          pass.tile(tile, tile + parts);
                      });
}

}  // namespace

std::size_t attention_forward_workspace(const AttentionShape& shape) {
  return dispatch(shape.type, [&](auto type) {
    using Words = WordsOf<typename decltype(type)::type>;
    return dealt_bytes(ForwardMemory<Words>(shape, nullptr).pieces.bytes());
  });
}

void attention_forward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv,
                       const Tensor& output, float* log_sums, const Dropout& dropout, void* workspace) {
  dispatch(shape.type, [&](auto type) {
    forward<typename decltype(type)::type>(exec, shape, qkv, output, log_sums, dropout,
                                           static_cast<std::byte*>(workspace));
  });
}

}  // namespace mylos
