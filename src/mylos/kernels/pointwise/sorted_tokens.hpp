// The rows of a batch ordered by their tokens, and sums over the rows of each token. By them a device
// computes an embedding's gradient without atomics, in an order that depends only on the tokens.
#pragma once

#include <bit>

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/launch/lanes_row.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

/// The sorted rows, in device memory.
struct SortedTokens {
  std::int32_t* rows;   // [rows], grouped by token, in their order; then those of unknown tokens
  std::int32_t* start;  // [vocabulary]: the first row of each token in `rows`
  std::int32_t* end;    // [vocabulary]: the one after its last row; `start` if there is none

  // Of the sort.
  std::int32_t* others;  // [rows]: a pass reads `rows` and writes these, or the reverse
  std::int32_t*
      positions;          // [blocks, digits]: of a block's first row with a digit, among those with the digit
  std::int32_t* offsets;  // [digits]: of the first row with a digit
};

namespace token_sort {

inline constexpr int digit_bits = 8;
inline constexpr int digits = 1 << digit_bits;
inline constexpr int rows_of_block = 256;

inline std::int64_t sort_blocks(std::int64_t rows) {
  return launch::ceiling_quotient(rows, rows_of_block);
}

/// The sort key of a row: its token, or the vocabulary's size if the token is unknown.
struct TokenKey {
  const std::int32_t* tokens;
  std::int32_t vocabulary;

  KOKKOS_FORCEINLINE_FUNCTION std::int32_t operator()(std::int64_t row) const {
    const std::int32_t token = tokens[row];
    return token >= 0 && token < vocabulary ? token : vocabulary;
  }
};

/// A pass over rows in an order: null for the first pass, in which row i is the i-th.
struct Pass {
  TokenKey key;
  const std::int32_t* order;
  std::int64_t rows;
  int shift;  // of the digit in the key

  KOKKOS_FORCEINLINE_FUNCTION std::int32_t row(std::int64_t i) const {
    return order == nullptr ? static_cast<std::int32_t>(i) : order[i];
  }
  /// Reads the digits of a block to scratch memory. Those after the last row are no digits.
  KOKKOS_FUNCTION void read_block(const LanesTeam& team, std::int64_t block, std::int32_t* found) const {
    const Pass pass = *this;
    team.for_each(rows_of_block, [=](std::int64_t i) {
      const std::int64_t at = block * rows_of_block + i;
      found[i] = at < pass.rows ? (pass.key(pass.row(at)) >> pass.shift) % digits : digits;
    });
    team.barrier();
  }
};

KOKKOS_FORCEINLINE_FUNCTION std::int32_t* scratch_of(const LanesTeam& team) {
  return reinterpret_cast<std::int32_t*>(team.scratch(0));
}

/// Returns how many of the first `count` numbers are `number`.
KOKKOS_FORCEINLINE_FUNCTION std::int32_t occurrences(const std::int32_t* numbers, std::int64_t count,
                                                     std::int32_t number) {
  std::int32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += numbers[i] == number ? 1 : 0;
  return found;
}

/// Scratch memory of each thread of a team that shares `count` integers.
inline std::int64_t scratch_floats(std::int64_t count) {
  return launch::ceiling_quotient(count, threads_of_lanes(1));
}

/// Counts the digits of each block.
inline void count_digits(const Execution& exec, const Pass& pass, std::int32_t* counts) {
  for_each_team_of_lanes(
      exec, "count_digits", sort_blocks(pass.rows), scratch_floats(rows_of_block),
      KOKKOS_LAMBDA(std::int64_t block, const LanesTeam& team) {
        std::int32_t* const found = scratch_of(team);
        pass.read_block(team, block, found);
        team.for_each(digits, [=](std::int64_t digit) {
          counts[block * digits + digit] =
              occurrences(found, rows_of_block, static_cast<std::int32_t>(digit));
        });
      });
}

/// Replaces the counts by positions.
inline void add_counts(const Execution& exec, std::int64_t blocks, std::int32_t* counts,
                       std::int32_t* offsets) {
  constexpr std::int64_t together = 16;  // loads that a lane has in flight
  for_each_team_of_lanes(
      exec, "add_counts", 1, scratch_floats(digits), KOKKOS_LAMBDA(std::int64_t, const LanesTeam& team) {
        std::int32_t* const totals = scratch_of(team);
        team.for_each(digits, [=](std::int64_t digit) {
          std::int32_t total = 0;
          for (std::int64_t first = 0; first < blocks; first += together) {
            std::int32_t count[together];
            for (std::int64_t i = 0; i < together; ++i)
              count[i] = first + i < blocks ? counts[(first + i) * digits + digit] : 0;
            for (std::int64_t i = 0; i < together; ++i) {
              if (first + i < blocks) counts[(first + i) * digits + digit] = total;
              total += count[i];
            }
          }
          totals[digit] = total;
        });
        team.barrier();
        team.for_each(digits, [=](std::int64_t digit) {
          std::int32_t before = 0;
          for (std::int64_t i = 0; i < digit; ++i) before += totals[i];
          offsets[digit] = before;
        });
      });
}

/// Moves the rows of each block to where their digits belong, those with the same digit in their order.
inline void move_rows(const Execution& exec, const Pass& pass, const std::int32_t* positions,
                      const std::int32_t* offsets, std::int32_t* moved) {
  for_each_team_of_lanes(
      exec, "move_rows", sort_blocks(pass.rows), scratch_floats(rows_of_block),
      KOKKOS_LAMBDA(std::int64_t block, const LanesTeam& team) {
        std::int32_t* const found = scratch_of(team);
        pass.read_block(team, block, found);
        team.for_each(rows_of_block, [=](std::int64_t i) {
          const std::int32_t digit = found[i];
          if (digit == digits) return;
          const std::int32_t before = occurrences(found, i, digit);
          moved[offsets[digit] + positions[block * digits + digit] + before] =
              pass.row(block * rows_of_block + i);
        });
      });
}

/// Finds where each token's rows begin and end.
inline void find_tokens(const Execution& exec, const TokenKey& key, std::int64_t rows,
                        const SortedTokens& sorted) {
  for_each_element(
      exec, "no_tokens", key.vocabulary, KOKKOS_LAMBDA(std::int64_t token) {
        sorted.start[token] = 0;
        sorted.end[token] = 0;
      });
  for_each_element(
      exec, "find_tokens", rows, KOKKOS_LAMBDA(std::int64_t i) {
        const std::int32_t token = key(sorted.rows[i]);
        if (token == key.vocabulary) return;
        if (i == 0 || key(sorted.rows[i - 1]) != token) sorted.start[token] = static_cast<std::int32_t>(i);
        if (i + 1 == rows || key(sorted.rows[i + 1]) != token)
          sorted.end[token] = static_cast<std::int32_t>(i + 1);
      });
}

}  // namespace token_sort

inline SortedTokens sorted_tokens_in(Pieces& workspace, std::int64_t rows, std::int64_t vocabulary) {
  using namespace token_sort;
  SortedTokens sorted{};
  sorted.rows = workspace.take<std::int32_t>(rows);
  sorted.start = workspace.take<std::int32_t>(vocabulary);
  sorted.end = workspace.take<std::int32_t>(vocabulary);
  sorted.others = workspace.take<std::int32_t>(rows);
  sorted.positions = workspace.take<std::int32_t>(sort_blocks(rows) * digits);
  sorted.offsets = workspace.take<std::int32_t>(digits);
  return sorted;
}

/// Sorts by radix, the last digit first (Knuth, The Art of Computer Programming 3, section 5.2.5, algorithm
/// R). Both numbers are less than 2^31.
inline void sort_tokens(const Execution& exec, const std::int32_t* tokens, std::int64_t rows,
                        std::int64_t vocabulary, const SortedTokens& sorted) {
  using namespace token_sort;
  const TokenKey key{tokens, static_cast<std::int32_t>(vocabulary)};
  const int bits = std::bit_width(static_cast<std::uint32_t>(vocabulary));  // of the keys
  const int passes = (bits + digit_bits - 1) / digit_bits;
  const std::int32_t* order = nullptr;
  for (int pass = 0; pass < passes; ++pass) {
    // The last pass writes to sorted.rows.
    std::int32_t* const moved = (passes - pass) % 2 == 1 ? sorted.rows : sorted.others;
    const Pass by_digit{key, order, rows, pass * digit_bits};
    count_digits(exec, by_digit, sorted.positions);
    add_counts(exec, sort_blocks(rows), sorted.positions, sorted.offsets);
    move_rows(exec, by_digit, sorted.positions, sorted.offsets, moved);
    order = moved;
  }
  find_tokens(exec, key, rows, sorted);
}

namespace token_sort {

/// The rows of one token, and a strip of their columns.
struct TokenRows {
  std::int64_t token;
  const std::int32_t* rows;
  std::int64_t count;
  std::int64_t first_column;
  std::int64_t columns;
};

/// The largest number of rows that one thread adds.
inline constexpr std::int64_t max_rows_of_thread = 8;

/// The lanes of a thread add all rows.
template <class Terms, class Store>
KOKKOS_FUNCTION void sum_alone(const LanesTeam& team, const TokenRows& of, const Terms& terms,
                               const Store& store) {
  team.row().for_each_tile(of.columns, [=](std::int64_t first, std::int64_t of_tile) {
    float sum[tile_width] = {};
    for (std::int64_t i = 0; i < of.count; ++i) terms.add(of.rows[i], of.first_column + first, of_tile, sum);
    store(of.token, of.first_column + first, of_tile, sum);
  });
}

/// Each thread adds a part of the rows.
template <class Terms, class Store>
KOKKOS_FUNCTION void sum_together(const LanesTeam& team, const TokenRows& of, const Terms& terms,
                                  const Store& store) {
  const int threads = team.threads();
  const int thread = team.thread();
  float* const thread_sum = team.scratch(thread);
  team.barrier();  // the sums of the token before have been read
  team.row().for_each_tile(of.columns, [=](std::int64_t first, std::int64_t of_tile) {
    float sum[tile_width] = {};
    for (std::int64_t i = thread; i < of.count; i += threads)
      terms.add(of.rows[i], of.first_column + first, of_tile, sum);
    device_tile::write(sum, of_tile, thread_sum + first);
  });
  team.barrier();
  const std::int64_t tiles = launch::ceiling_quotient(of.columns, tile_width);
  team.for_each(tiles, [=](std::int64_t tile) {
    const std::int64_t first = tile * tile_width;
    const std::int64_t of_tile = launch::smaller(tile_width, of.columns - first);
    float sum[tile_width] = {};
    for (int part = 0; part < threads; ++part) {
      float of_part[tile_width];
      device_tile::read(team.scratch(part) + first, of_tile, of_part);
      for_each_in_tile(of_tile, [&](std::int64_t i) { sum[i] += of_part[i]; });
    }
    store(of.token, of.first_column + first, of_tile, sum);
  });
}

}  // namespace token_sort

/// Calls store(token, first_column, count, sum) for every token and tile of columns, after terms.add(row,
/// first_column, count, sum) has added the token's rows. Each thread of a team has a token with few rows; all
/// of them add the rows of the others, token by token.
template <class Terms, class Store>
void sum_tokens(const Execution& exec, KernelName name, std::int64_t vocabulary, std::int64_t columns,
                const SortedTokens& sorted, const Terms& terms, const Store& store) {
  using namespace token_sort;
  constexpr std::int64_t max_columns = 1024;  // per strip
  const std::int64_t width = launch::smaller(max_columns, columns);
  const std::int64_t strips = launch::ceiling_quotient(columns, width);
  const std::int64_t teams = launch::ceiling_quotient(vocabulary, threads_of_lanes(width));
  for_each_team_of_lanes(
      exec, name, teams * strips, width, KOKKOS_LAMBDA(std::int64_t index, const LanesTeam& team) {
        const std::int64_t first_token = index / strips * team.threads();
        const std::int64_t start = index % strips * width;
        const auto rows_of = [&](std::int64_t token) {
          const bool exists = token < vocabulary;
          const std::int64_t begin = exists ? sorted.start[token] : 0;
          const std::int64_t end = exists ? sorted.end[token] : 0;
          return TokenRows{token, sorted.rows + begin, end - begin, start,
                           launch::smaller(width, columns - start)};
        };
        const TokenRows own = rows_of(first_token + team.thread());
        if (own.token < vocabulary && own.count <= max_rows_of_thread) sum_alone(team, own, terms, store);
        for (int i = 0; i < team.threads(); ++i) {
          const TokenRows shared = rows_of(first_token + i);
          if (shared.count > max_rows_of_thread) sum_together(team, shared, terms, store);
        }
      });
}

}  // namespace mylos
