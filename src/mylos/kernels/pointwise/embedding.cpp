#include "mylos/kernels/pointwise/embedding.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/kernels/pointwise/dropout_mask.hpp"
#include "mylos/kernels/pointwise/sorted_tokens.hpp"

namespace mylos {
namespace {

template <class T, class W>
void forward(const Execution& exec, const std::int32_t* tokens, std::int64_t length,
             const ConstTensor& token_tensor, const ConstTensor& position_tensor, const Tensor& output_tensor,
             const Dropout& dropout) {
  const W* token_weight = token_tensor.as<W>();
  const W* position_weight = position_tensor.empty() ? nullptr : position_tensor.as<W>();
  T* output = output_tensor.as<T>();
  const std::int64_t columns = output_tensor.columns();
  const std::int64_t vocabulary = token_tensor.rows();
  const DropoutMask mask(dropout);
  for_each_tile(
      exec, "embedding", output_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        const std::int64_t token = tokens[row];
        const bool known = token >= 0 && token < vocabulary;
        const W* by_token = token_weight + (known ? token : 0) * columns + first;
        T* out = output + row * columns + first;
        float buffer[tile_width];
        float sum[tile_width];
        const auto weight = tile_values(by_token, count, buffer);
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = weight[i]; });
        if (!known) {
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] = Kokkos::Experimental::quiet_NaN_v<float>; });
        }
        if (position_weight != nullptr) {
          const W* by_position = position_weight + row % length * columns + first;
          const auto shift = tile_values(by_position, count, buffer);
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += shift[i]; });
        }
        if (mask.active()) {
          float factor[tile_width];
          mask.factors(row, first, count, factor);
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] *= factor[i]; });
        }
        write_tile(sum, count, out);
      });
}

/// The rows of each token as a linked list in the order of the rows: first[token], then next[row], -1 at the
/// end.
struct Occurrences {
  std::int32_t* first;
  std::int32_t* next;
};

Occurrences occurrences_in(Pieces& workspace, std::int64_t rows, std::int64_t vocabulary) {
  auto* const first = workspace.take<std::int32_t>(vocabulary);
  return {first, workspace.take<std::int32_t>(rows)};
}

/// One host thread builds the lists, from the last row to the first.
void link_rows_on_host(const Execution& exec, const std::int32_t* tokens, std::int64_t rows,
                       std::int64_t vocabulary, const Occurrences& lists) {
  for_each_block(
      exec, "link_tokens", rows, rows, KOKKOS_LAMBDA(std::int64_t, std::int64_t) {
        simd_for(0, vocabulary, [=](std::int64_t token) { lists.first[token] = -1; });
        for (std::int64_t row = rows - 1; row >= 0; --row) {
          const std::int64_t token = tokens[row];
          if (token < 0 || token >= vocabulary) continue;
          lists.next[row] = lists.first[token];
          lists.first[token] = static_cast<std::int32_t>(row);
        }
      });
}

/// The terms of a sum over rows of d_output, with dropout, in a tile of columns.
template <class T>
struct Terms {
  const T* d_output;
  std::int64_t columns;
  DropoutMask mask;

  KOKKOS_FUNCTION void add(std::int64_t row, std::int64_t first, std::int64_t count, float* sum) const {
    float buffer[tile_width];
    const auto d = tile_values(d_output + row * columns + first, count, buffer);
    if (mask.active()) {
      float factor[tile_width];
      mask.factors(row, first, count, factor);
      for_each_in_tile(count, [&](std::int64_t i) { sum[i] += d[i] * factor[i]; });
    } else {
      for_each_in_tile(count, [&](std::int64_t i) { sum[i] += d[i]; });
    }
  }
};

template <class W>
KOKKOS_FORCEINLINE_FUNCTION void store_tile(W* target, const float* sum, std::int64_t count,
                                            bool accumulate) {
  if constexpr (!runs_on_host) {
    accumulate ? device_tile::add(sum, count, target) : device_tile::write(sum, count, target);
  } else if (accumulate) {
    for_each_in_tile(count, [&](std::int64_t i) { target[i] = from_float<W>(to_float(target[i]) + sum[i]); });
  } else {
    for_each_in_tile(count, [&](std::int64_t i) { target[i] = from_float<W>(sum[i]); });
  }
}

template <class T, class W>
void add_listed_tokens(const Execution& exec, const Terms<T>& terms, const Occurrences& lists,
                       const Tensor& d_token_tensor, bool accumulate) {
  W* d_token = d_token_tensor.as<W>();
  const std::int64_t columns = terms.columns;
  for_each_tile(
      exec, "d_embedding", d_token_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t token, std::int64_t first, std::int64_t count) {
        const std::int64_t start = lists.first[token];
        if (start < 0 && accumulate) return;
        float sum[tile_width] = {};
        for (std::int64_t row = start; row >= 0; row = lists.next[row]) terms.add(row, first, count, sum);
        store_tile(d_token + token * columns + first, sum, count, accumulate);
      });
}

template <class T, class W>
void add_sorted_tokens(const Execution& exec, const Terms<T>& terms, const SortedTokens& sorted,
                       const Tensor& d_token_tensor, bool accumulate) {
  W* d_token = d_token_tensor.as<W>();
  const std::int64_t columns = terms.columns;
  sum_tokens(
      exec, "d_embedding", d_token_tensor.rows(), columns, sorted, terms,
      KOKKOS_LAMBDA(std::int64_t token, std::int64_t first, std::int64_t count, const float* sum) {
        if (sorted.end[token] == sorted.start[token] && accumulate) return;
        store_tile(d_token + token * columns + first, sum, count, accumulate);
      });
}

/// Orders the rows by their tokens, and then sums the rows of each token.
struct TokenSums {
  TokenSums(Pieces& workspace, std::int64_t of_rows, std::int64_t of_vocabulary)
      : rows(of_rows), vocabulary(of_vocabulary) {
    if constexpr (runs_on_host) {
      lists = occurrences_in(workspace, rows, vocabulary);
    } else {
      sorted = sorted_tokens_in(workspace, rows, vocabulary);
    }
  }

  void order(const Execution& exec, const std::int32_t* tokens) const {
    if constexpr (runs_on_host) {
      link_rows_on_host(exec, tokens, rows, vocabulary, lists);
    } else {
      sort_tokens(exec, tokens, rows, vocabulary, sorted);
    }
  }

  template <class T>
  void add(const Execution& exec, const Terms<T>& terms, const Tensor& d_token, bool accumulate) const {
    dispatch_same_or_float<T>(d_token.type(), [&]<class W>(TypeTag<W>) {
      if constexpr (runs_on_host) {
        add_listed_tokens<T, W>(exec, terms, lists, d_token, accumulate);
      } else {
        add_sorted_tokens<T, W>(exec, terms, sorted, d_token, accumulate);
      }
    });
  }

  std::int64_t rows;
  std::int64_t vocabulary;
  Occurrences lists{};
  SortedTokens sorted{};
};

template <class T, class W>
void add_positions(const Execution& exec, const Terms<T>& terms, std::int64_t rows, std::int64_t length,
                   const Tensor& d_position_tensor, bool accumulate) {
  W* d_position = d_position_tensor.as<W>();
  const std::int64_t columns = terms.columns;
  for_each_tile(
      exec, "d_position", d_position_tensor.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t position, std::int64_t first, std::int64_t count) {
        float sum[tile_width] = {};
        if (position < length) {
          for (std::int64_t row = position; row < rows; row += length) terms.add(row, first, count, sum);
        }
        store_tile(d_position + position * columns + first, sum, count, accumulate);
      });
}

}  // namespace

void embedding_forward(const Execution& exec, const std::int32_t* tokens, std::int64_t length,
                       const ConstTensor& token_weight, const ConstTensor& position_weight,
                       const Tensor& output, const Dropout& dropout) {
  dispatch_pair(output.type(), token_weight.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    forward<T, W>(exec, tokens, length, token_weight, position_weight, output, dropout);
  });
}

std::size_t embedding_backward_workspace(std::int64_t rows, std::int64_t vocabulary) {
  Pieces pieces(nullptr);
  const TokenSums sums(pieces, rows, vocabulary);
  return pieces.bytes();
}

void embedding_backward(const Execution& exec, const std::int32_t* tokens, std::int64_t length,
                        const ConstTensor& d_output, const Tensor& d_token, const Tensor& d_position,
                        bool accumulate_token, bool accumulate_position, const Dropout& dropout,
                        void* workspace) {
  Pieces pieces(workspace);
  const TokenSums sums(pieces, d_output.rows(), d_token.rows());
  sums.order(exec, tokens);
  dispatch(d_output.type(), [&](auto type) {
    using T = typename decltype(type)::type;
    const Terms<T> terms{d_output.as<T>(), d_output.columns(), DropoutMask(dropout)};
    sums.add(exec, terms, d_token, accumulate_token);
    if (d_position.empty()) return;
    dispatch_same_or_float<T>(d_position.type(), [&]<class W>(TypeTag<W>) {
      add_positions<T, W>(exec, terms, d_output.rows(), length, d_position, accumulate_position);
    });
  });
}

}  // namespace mylos
