// Blocks of rows, each of which one team sums column by column: the first half of the sum for a norm's
// parameters.
#pragma once

#include <algorithm>

#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

inline constexpr std::int64_t max_row_blocks = 256;
inline constexpr std::int64_t min_rows_per_block = 16;

/// Rows from a norm's row to the one that is prefetched, those that are written as well.
inline constexpr std::int64_t norm_prefetch_distance = 4;

inline std::int64_t rows_per_block(std::int64_t rows) {
  return std::max(min_rows_per_block, launch::ceiling_quotient(rows, max_row_blocks));
}

inline std::int64_t row_blocks(std::int64_t rows) {
  return launch::ceiling_quotient(rows, rows_per_block(rows));
}

/// At least row_blocks() of `rows` and of any smaller number: of 4097 rows there are 241 blocks, of 4096
/// there are 256.
inline std::int64_t room_for_row_blocks(std::int64_t rows) {
  return std::min(launch::ceiling_quotient(rows, min_rows_per_block), max_row_blocks);
}

}  // namespace mylos
