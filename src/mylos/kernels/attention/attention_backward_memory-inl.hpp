// The memory of attention's backward pass on hosts, and how it is filled with the matrices of a head.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/attention/attention.hpp"

#if defined(MYLOS_KERNELS_ATTENTION_BACKWARD_MEMORY_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_ATTENTION_BACKWARD_MEMORY_INL_HPP
#undef MYLOS_KERNELS_ATTENTION_BACKWARD_MEMORY_INL_HPP
#else
#define MYLOS_KERNELS_ATTENTION_BACKWARD_MEMORY_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/attention/attention_heads-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

// Constant, because they determine the order of the sums.
inline constexpr std::int64_t key_block = 64;
inline constexpr std::int64_t query_block = 256;

/// The memory of one worker: the matrices of a head in the formats of the GEMMs, its gradients, and the
/// scores of a block.
template <class Words>
struct BackwardMemory {
  using Element = typename Words::Element;
  using Word = typename Words::Word;

  BackwardMemory(const AttentionShape& shape, std::byte* workspace) : pieces(workspace) {
    const std::int64_t rows = padded_rows(shape.length);
    const std::int64_t columns = padded_columns<Words>(shape.head_width);
    const std::int64_t words = rows * columns / Words::per_word;
    const std::int64_t transposed_words = columns / Words::per_word * transposed_stride(shape.length);
    queries = {pieces.take<Word>(words), pieces.take<Word>(transposed_words)};
    d_output = {pieces.take<Word>(words), pieces.take<Word>(transposed_words)};
    keys = pieces.take<Word>(words);
    key_rows = Words::per_word == 1 ? keys : pieces.take<Word>(words);
    value_rows = pieces.take<Word>(words);
    log_sums = pieces.take<float>(rows);
    output_dots = pieces.take<float>(rows);
    d_queries = pieces.take<float>(rows * columns);
    d_keys = pieces.take<float>(key_block * columns);
    d_values = pieces.take<float>(key_block * columns);
    scores = pieces.take<float>(tile_rows() * query_block);
    score_gradients = pieces.take<Word>(key_block / Words::per_word * query_block);
    if constexpr (Words::per_word > 1) {
      d_probabilities = pieces.take<float>(tile_rows() * query_block);
      rounded_scores = pieces.take<Element>(tile_rows() * query_block);
      rounded_gradients = pieces.take<Element>(tile_rows() * query_block);
    }
    factors = pieces.take<float>(key_block * query_block);
  }

  /// A matrix packed by columns and transposed.
  struct BothLayouts {
    Word* columns = nullptr;
    Word* transposed = nullptr;
  };

  Pieces pieces;
  BothLayouts queries, d_output;
  Word* keys;      // by columns
  Word* key_rows;  // the same memory as `keys` if a word is one element
  Word* value_rows;
  float* log_sums;     // times log2(e); infinity in the padding, which makes the probabilities 0
  float* output_dots;  // o_i do_i
  float* d_queries;
  float* d_keys;
  float* d_values;
  float* scores;                     // [tile_rows, query_block], then the probabilities
  Word* score_gradients;             // of a block of keys, by query: a word holds two keys' elements (or one)
  float* d_probabilities = nullptr;  // [tile_rows, query_block]
  Element* rounded_scores = nullptr;
  Element* rounded_gradients = nullptr;
  float* factors;  // [key_block, query_block]: the dropout factors of the probabilities
};

/// Computes result[i] = a_i b_i for all rows; 0 in the padding.
template <class T>
void multiply_rows(const HeadRows<const T>& a, const HeadRows<const T>& b, float* result) {
  const FloatTag all;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    if (row % tile_rows() == 0) prefetch_rows(a, row + tile_rows());
    const T* x = a.first + row * a.stride;
    const T* y = b.first + row * b.stride;
    auto sum = hn::Zero(all);
    for_each_vector(a.columns, [&](auto d, std::int64_t c, auto lanes) HWY_ATTR {
      sum = hn::MulAdd(load(d, x + c, lanes), load(d, y + c, lanes), sum);
    });
    result[row] = hn::ReduceSum(all, sum);
  }
  std::fill(result + a.rows, result + padded_rows(a.rows), 0.0f);
}

/// Fills the memory with the matrices of a head.
template <class T, class Words>
void load_head(const AttentionShape& shape, const HeadRows<const T> (&qkv)[3],
               const HeadRows<const T>& output, const HeadRows<const T>& d_output, const float* log_sums,
               const BackwardMemory<Words>& memory) {
  const std::int64_t stride = transposed_stride(shape.length);
  pack_transposed<Words>(qkv[0], memory.queries.transposed, stride);
  pack_columns<Words>(qkv[0], memory.queries.columns);
  pack_columns<Words>(qkv[1], memory.keys);
  if constexpr (Words::per_word > 1) pack_rows<Words>(qkv[1], memory.key_rows);
  pack_rows<Words>(qkv[2], memory.value_rows);
  pack_transposed<Words>(d_output, memory.d_output.transposed, stride);
  pack_columns<Words>(d_output, memory.d_output.columns);
  multiply_rows(output, d_output, memory.output_dots);
  for (std::int64_t i = 0; i < padded_rows(shape.length); ++i)
    memory.log_sums[i] =
        i < shape.length ? 1.44269504f * log_sums[i] : std::numeric_limits<float>::infinity();
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
