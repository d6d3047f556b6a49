// Attention's forward pass on hosts: 16 queries at a time against all keys that they see, in tiles that stay
// in the core's own cache.
#include "attention_heads.hpp"
#include "mylos/kernels/math.hpp"

namespace mylos {
namespace {

/// One worker's memory: a head's keys and values, 16 queries, their scores and outputs.
template <class Words>
struct WorkerMemory {
  using Element = typename Words::Element;
  using Word = typename Words::Word;

  WorkerMemory(const AttentionShape& shape, std::byte* workspace) : pieces(workspace) {
    const std::int64_t rows = padded_rows(shape.length);
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    key_stride = rows + lanes::count;  // keeps the words of a column out of each other's cache sets
    keys = pieces.take<Word>(columns / Words::per_word * key_stride);
    values = pieces.take_head<Words>(shape.length, shape.head_width);
    queries = pieces.take<Element>(tile_rows * columns);
    scores = pieces.take<float>(tile_rows * rows);
    probabilities = Words::per_word == 1 ? nullptr : pieces.take<Element>(tile_rows * rows);
    outputs = pieces.take<float>(tile_rows * columns);
  }

  Pieces pieces;
  std::int64_t key_stride;
  Word* keys;
  RowsAndColumns<Words> values;
  Element* queries;
  float* scores;
  Element* probabilities;
  float* outputs;
};

/// Parts that a head's query tiles are dealt to, so that few heads keep many threads busy.
std::int64_t parts_of_head(const AttentionShape& shape) {
  const std::int64_t tiles = padded_rows(shape.length) / tile_rows;
  const std::int64_t wanted = launch::ceiling_quotient(2 * most_workers(), shape.samples * shape.heads);
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
  const WorkerMemory<Words>& memory;

  /// Scores become e^(scale s - largest) times the dropout factor; returns 1 / the row's sum of exponentials.
  float exponentiate(float* s, std::int64_t i, std::int64_t tiles) const {
    const std::int64_t columns = tiles * tile_rows;  // a whole number of vectors: loops without a rest
    keep_lanes(s + columns - tile_rows, 0, static_cast<int>(i % tile_rows + 1));
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_width));
    const HostRow row;
    const float largest = scale * row.max(columns, [=](std::int64_t j) { return s[j]; });
    const float sum = row.sum(columns, [=](std::int64_t j) {
      const float p = math::exp(scale * s[j] - largest);
      s[j] = p;
      return p;
    });
    if (i < shape.length) log_sums[i] = largest + std::log(sum);
    if (mask.active()) {
      for (std::int64_t first = 0; first < columns; first += tile_width) {
        float factor[tile_width];
        const std::int64_t count = std::min(tile_width, columns - first);
        mask.factors(first_mask_row + i, first, count, factor);
        simd_for(0, count, [&](std::int64_t j) { s[first + j] *= factor[j]; });
      }
    }
    return 1.0f / sum;
  }

  void tile(std::int64_t index) const {
    const std::int64_t first = index * tile_rows;
    const std::int64_t tiles = index + 1;  // of keys; the last one is cut by the diagonal
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    const std::int64_t stride = padded_rows(shape.length);
    const std::int64_t rows = std::min(tile_rows, shape.length - first);
    pack_rows<Words>(
        HeadRows<const T>{queries.first + first * queries.stride, queries.stride, rows, shape.head_width},
        memory.queries);
    multiply<Words>(tile_rows, tiles * tile_rows, words_for<Words>(shape.head_width),
                    ByRows<Word>{reinterpret_cast<const Word*>(memory.queries), columns / Words::per_word},
                    memory.keys, memory.key_stride, {memory.scores, stride, false});
    float inverse_sums[tile_rows];
    for (std::int64_t r = 0; r < tile_rows; ++r)
      inverse_sums[r] = exponentiate(memory.scores + r * stride, first + r, tiles);
    const auto* p = as_elements<Words>(memory.scores, stride, tiles * tile_rows, memory.probabilities);
    multiply<Words>(tile_rows, launch::ceiling_quotient(shape.head_width, lanes::count) * lanes::count,
                    tiles * tile_rows / Words::per_word,
                    ByRows<Word>{reinterpret_cast<const Word*>(p), stride / Words::per_word},
                    memory.values.columns, columns, {memory.outputs, columns, false});
    for (std::int64_t r = 0; r < rows; ++r)
      store_rows(memory.outputs + r * columns, columns, inverse_sums[r], output, first + r, 1);
  }
};

template <class T>
void forward(const Execution& exec, const AttentionShape& shape, const Tensor& qkv_tensor,
             const Tensor& output_tensor, float* log_sums, const Dropout& dropout, std::byte* workspace) {
  using Words = WordsOf<T>;
  const T* qkv = qkv_tensor.as<T>();
  T* output = output_tensor.as<T>();
  const DropoutMask mask = mask_of_scores(shape, dropout);
  const std::int64_t parts = parts_of_head(shape);
  for_each_task(exec, "attention", shape.samples * shape.heads * parts, workspace,
                WorkerMemory<Words>(shape, nullptr).pieces.bytes(), [=](std::int64_t task, std::byte* own) {
                  const std::int64_t head = task / parts;
                  const std::int64_t tiles = padded_rows(shape.length) / tile_rows;
                  const WorkerMemory<Words> memory(shape, own);
                  const auto part = [&](int number) {
                    return rows_of_head(shape, qkv, 3 * shape.width(), head, number);
                  };
                  pack_transposed<Words>(part(1), memory.keys, memory.key_stride);
                  memory.values.pack(part(2));
                  const HeadForward<T> pass{shape,
                                            part(0),
                                            rows_of_head(shape, output, shape.width(), head),
                                            log_sums + head * shape.length,
                                            mask,
                                            head * shape.length,
                                            memory};
                  for (std::int64_t tile = task % parts; tile < tiles; tile += parts) pass.tile(tile);
                });
}

}  // namespace

std::size_t attention_forward_workspace(const AttentionShape& shape) {
  return dispatch(shape.type, [&](auto type) {
    using Words = WordsOf<typename decltype(type)::type>;
    return static_cast<std::size_t>(most_workers()) * WorkerMemory<Words>(shape, nullptr).pieces.bytes();
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
