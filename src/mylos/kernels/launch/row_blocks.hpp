// Blocks of rows that one team each sums column by column: the first pass of the sums for a norm's
// parameters.
#pragma once

#include <algorithm>

#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

inline constexpr std::int64_t max_row_blocks = 256;
inline constexpr std::int64_t min_rows_per_block = 16;

/// The prefetch distance of norms in rows, for rows that are read and rows that are written.
inline constexpr std::int64_t norm_prefetch_distance = 4;

inline std::int64_t rows_per_block(std::int64_t rows) {
  return std::max(min_rows_per_block, launch::ceiling_quotient(rows, max_row_blocks));
}

inline std::int64_t row_blocks(std::int64_t rows) {
  return launch::ceiling_quotient(rows, rows_per_block(rows));
}

/// Returns an upper bound of row_blocks() for `rows` and any smaller number: 4097 rows have 241 blocks, 4096
/// have 256.
inline std::int64_t row_blocks_bound(std::int64_t rows) {
  return std::min(launch::ceiling_quotient(rows, min_rows_per_block), max_row_blocks);
}

}  // namespace mylos
