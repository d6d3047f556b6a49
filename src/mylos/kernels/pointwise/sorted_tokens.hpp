// The rows of a batch ordered by their tokens, and sums over the rows of each token. By them a device
// computes an embedding's gradient without atomics, in an order that depends only on the tokens.
#pragma once

#include "mylos/base/device/pieces.hpp"
#include "mylos/kernels/launch/lanes_row.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

/// For the token of one row: the number of rows with a smaller token, of earlier rows with the same token,
/// and of all rows with the same token.
struct TokenCounts {
  std::int32_t smaller = 0;
  std::int32_t before = 0;
  std::int32_t all = 0;

  KOKKOS_FUNCTION TokenCounts& operator+=(const TokenCounts& other) {
    smaller += other.smaller;
    before += other.before;
    all += other.all;
    return *this;
  }
};

/// The sorted rows, in device memory.
struct SortedTokens {
  std::int32_t* rows;   // [rows], grouped by token
  std::int32_t* start;  // [vocabulary]: the first row of each token in `rows`
  std::int32_t* count;  // [vocabulary]
};

inline SortedTokens sorted_tokens_in(Pieces& workspace, std::int64_t rows, std::int64_t vocabulary) {
  auto* const sorted = workspace.take<std::int32_t>(rows);
  auto* const start = workspace.take<std::int32_t>(vocabulary);
  return {sorted, start, workspace.take<std::int32_t>(vocabulary)};
}

}  // namespace mylos

/// Lets Kokkos sum them within a row.
template <>
struct Kokkos::reduction_identity<mylos::TokenCounts> {
  KOKKOS_FUNCTION static mylos::TokenCounts sum() { return {}; }
};

namespace mylos {

/// Every row computes its position by counting. This takes rows^2 comparisons, which are few compared with a
/// model's GEMMs up to some 10^5 rows.
template <class Token>
void sort_tokens(const Execution& exec, const Token* tokens, std::int64_t rows, std::int64_t vocabulary,
                 const SortedTokens& sorted) {
  for_each_element(
      exec, "no_tokens", vocabulary, KOKKOS_LAMBDA(std::int64_t token) { sorted.count[token] = 0; });
  for_each_row(
      exec, "sort_tokens", rows, rows, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const Token token = tokens[index];
        if (token < 0 || token >= vocabulary) return;
        const TokenCounts counts = row.sum(rows, [=](std::int64_t i) {
          const Token other = tokens[i];
          const bool same = other == token;
          return TokenCounts{other >= 0 && other < token, same && i < index, same};
        });
        row.once([=]() {
          sorted.rows[counts.smaller + counts.before] = static_cast<std::int32_t>(index);
          if (counts.before == 0) {
            sorted.start[token] = counts.smaller;
            sorted.count[token] = counts.all;
          }
        });
      });
}

/// Calls store(token, first_column, count, sum) for every token and tile of columns, after terms.add(row,
/// first_column, count, sum) has added the token's rows. Each of eight threads adds an eighth of them.
template <class Terms, class Store>
void sum_tokens(const Execution& exec, KernelName name, std::int64_t vocabulary, std::int64_t columns,
                const SortedTokens& sorted, const Terms& terms, const Store& store) {
  constexpr std::int64_t max_columns = 1024;  // per strip
  const std::int64_t width = launch::smaller(max_columns, columns);
  const std::int64_t strips = launch::ceiling_quotient(columns, width);
  for_each_team_of_lanes(
      exec, name, vocabulary * strips, width, KOKKOS_LAMBDA(std::int64_t index, const LanesTeam& team) {
        const std::int64_t token = index / strips;
        const std::int64_t start = (index - token * strips) * width;
        const std::int64_t here = launch::smaller(width, columns - start);
        const std::int64_t count = sorted.count[token];
        const std::int32_t* const rows = sorted.rows + (count > 0 ? sorted.start[token] : 0);
        const int used = static_cast<int>(launch::smaller(team.threads(), count));
        const int thread = team.thread();
        float* const thread_sum = team.scratch(thread);
        if (thread < used) {
          team.row().for_each_tile(here, [=](std::int64_t first, std::int64_t of_tile) {
            float sum[tile_width] = {};
            for (std::int64_t i = thread; i < count; i += used)
              terms.add(rows[i], start + first, of_tile, sum);
            device_tile::write(sum, of_tile, thread_sum + first);
          });
        }
        team.barrier();
        const std::int64_t tiles = launch::ceiling_quotient(here, tile_width);
        team.for_each(tiles, [=](std::int64_t tile) {
          const std::int64_t first = tile * tile_width;
          const std::int64_t of_tile = launch::smaller(tile_width, here - first);
          float sum[tile_width] = {};
          for (int part = 0; part < used; ++part) {
            float of_part[tile_width];
            device_tile::read(team.scratch(part) + first, of_tile, of_part);
            for_each_in_tile(of_tile, [&](std::int64_t i) { sum[i] += of_part[i]; });
          }
          store(token, start + first, of_tile, sum);
        });
      });
}

}  // namespace mylos
