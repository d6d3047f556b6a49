// Dense layers.
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

constexpr const char* c_tile = R"(
/* $width outputs; w begins at the first of them. Their sums are held in registers. */
$function void tile_$width(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                       const real *$restrict x, real *$restrict y) {
  real s[$width];
  for (int k = 0; k < $width; ++k) s[k] = b[k];
  for (int i = 0; i < inputs; ++i) {
    for (int k = 0; k < $width; ++k) s[k] += x[i] * w[k];
    w += outputs;
  }
  for (int k = 0; k < $width; ++k) y[k] = s[k];
}
)";

constexpr const char* c_tile_of_columns = R"(
/* $width outputs of 4 columns. */
$function void tile_$widthx4(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                         const real *$restrict x, real *$restrict y) {
  real s0[$width], s1[$width], s2[$width], s3[$width];
  for (int k = 0; k < $width; ++k) s0[k] = s1[k] = s2[k] = s3[k] = b[k];
  for (int i = 0; i < inputs; ++i) {
    const real x0 = x[i], x1 = x[inputs + i], x2 = x[2 * inputs + i], x3 = x[3 * inputs + i];
    for (int k = 0; k < $width; ++k) {
      s0[k] += x0 * w[k];
      s1[k] += x1 * w[k];
      s2[k] += x2 * w[k];
      s3[k] += x3 * w[k];
    }
    w += outputs;
  }
  for (int k = 0; k < $width; ++k) {
    y[k] = s0[k];
    y[outputs + k] = s1[k];
    y[2 * outputs + k] = s2[k];
    y[3 * outputs + k] = s3[k];
  }
}
)";

const SourceRoutine c_linear_table[] = {
    {"tile_8", {}, of_width(c_tile, 8)},
    {"tile_32", {}, of_width(c_tile, 32)},
    {"tile_64", {}, of_width(c_tile, 64)},
    {"tile_32x4", {}, of_width(c_tile_of_columns, 32)},
    {"tile_64x4", {}, of_width(c_tile_of_columns, 64)},
    {"one_output", {}, R"(
$function real one_output(int inputs, int outputs, const real *$restrict w, real b,
                          const real *$restrict x) {
  real s0 = b, s1 = 0, s2 = 0, s3 = 0;
  int i = 0;
  for (; i + 4 <= inputs; i += 4) {
    s0 += x[i] * w[0];
    s1 += x[i + 1] * w[outputs];
    s2 += x[i + 2] * w[2 * outputs];
    s3 += x[i + 3] * w[3 * outputs];
    w += 4 * outputs;
  }
  for (; i < inputs; ++i) {
    s0 += x[i] * w[0];
    w += outputs;
  }
  return (s0 + s1) + (s2 + s3);
}
)"},
    {"last_outputs", {"tile_8", "one_output"}, R"(
/* The outputs from o on, fewer than 32. */
$function void last_outputs(int o, int inputs, int outputs, const real *$restrict w,
                            const real *$restrict b, const real *$restrict x, real *$restrict y) {
  for (; o + 8 <= outputs; o += 8) tile_8(inputs, outputs, w + o, b + o, x, y + o);
  for (; o < outputs; ++o) y[o] = one_output(inputs, outputs, w + o, b[o], x);
}
)"},
    {"linear", {"tile_32", "tile_64", "last_outputs"}, R"(
/* y = x W + b, W[inputs][outputs]. */
$function void linear(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                      const real *$restrict x, real *$restrict y) {
  int o = 0;
  for (; o + 64 <= outputs; o += 64) tile_64(inputs, outputs, w + o, b + o, x, y + o);
  for (; o + 32 <= outputs; o += 32) tile_32(inputs, outputs, w + o, b + o, x, y + o);
  last_outputs(o, inputs, outputs, w, b, x, y);
}
)"},
    {"linear_block", {"tile_32", "tile_64", "tile_32x4", "tile_64x4", "last_outputs"}, R"(
/* The same for columns, one after the other in x and y. */
$function void linear_block(int columns, int inputs, int outputs, const real *$restrict w,
                            const real *$restrict b, const real *$restrict x, real *$restrict y) {
  int o = 0;
  for (; o + 64 <= outputs; o += 64) {
    int c = 0;
    for (; c + 4 <= columns; c += 4)
      tile_64x4(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
    for (; c < columns; ++c) tile_64(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
  }
  for (; o + 32 <= outputs; o += 32) {
    int c = 0;
    for (; c + 4 <= columns; c += 4)
      tile_32x4(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
    for (; c < columns; ++c) tile_32(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
  }
  for (int c = 0; c < columns; ++c)
    last_outputs(o, inputs, outputs, w, b, x + c * inputs, y + c * outputs);
}
)"}};

}  // namespace

std::span<const SourceRoutine> c_linear_routines() {
  return c_linear_table;
}

}  // namespace mylos
