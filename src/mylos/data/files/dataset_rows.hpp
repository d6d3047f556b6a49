// Rows of a dataset file during a pass over it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"

namespace mylos {

/// Returns the rows per read of a pass over the file: about 1 MiB.
[[nodiscard]] inline std::int64_t rows_per_read(std::int64_t row_bytes) {
  return std::max<std::int64_t>(1, (std::int64_t{1} << 20) / row_bytes);
}

/// Refuses values that are not finite before they enter the statistics of all rows and a later message names
/// a wrong row.
inline void require_finite(const std::string& path, const char* dataset, const float* values,
                           std::int64_t first_row, std::int64_t rows, std::int64_t columns) {
  const float* end = values + rows * columns;
  const float* bad = std::find_if(values, end, [](float value) { return !std::isfinite(value); });
  if (bad == end) return;
  fail_input(errors::not_finite, "{}: {} row {}, column {} (counted from 0) is {}, expected a finite number",
             path, dataset, first_row + (bad - values) / columns, (bad - values) % columns, *bad);
}

}  // namespace mylos
