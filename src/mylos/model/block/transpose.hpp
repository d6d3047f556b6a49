// Transposes matrices in host memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mylos {

/// Returns the transpose of a [rows, columns] matrix; works in tiles whose cache lines stay in the cache.
[[nodiscard]] inline std::vector<float> transpose(const std::vector<float>& matrix, std::int64_t rows,
                                                  std::int64_t columns) {
  constexpr std::int64_t tile = 32;
  std::vector<float> result(matrix.size());
  for (std::int64_t row = 0; row < rows; row += tile) {
    for (std::int64_t column = 0; column < columns; column += tile) {
      for (std::int64_t i = row; i < std::min(row + tile, rows); ++i) {
        for (std::int64_t j = column; j < std::min(column + tile, columns); ++j) {
          result[static_cast<std::size_t>(j * rows + i)] = matrix[static_cast<std::size_t>(i * columns + j)];
        }
      }
    }
  }
  return result;
}

}  // namespace mylos
