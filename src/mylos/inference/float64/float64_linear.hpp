// Dense layers in double, of a block of columns.
//
// W is [inputs][outputs]. Sums are held in registers: of 6 columns x 8 outputs (AVX2 has 16 registers of 4
// doubles), of one column x 32 outputs.
#pragma once

#include <cstdint>

namespace mylos::float64 {

/// Vectors of a block of columns, `stride` numbers from one to the next.
struct Columns {
  double* data = nullptr;
  std::int64_t stride = 0;

  [[nodiscard]] double* of(std::int64_t column) const { return data + column * stride; }
};

struct LinearShape {
  std::int64_t columns;
  std::int64_t inputs;
  std::int64_t outputs;
};

/// Computes y = x W + b. `bias`: null: 0.
void multiply(const LinearShape& shape, const double* weight, const double* bias, const Columns& x,
              const Columns& y);

}  // namespace mylos::float64
