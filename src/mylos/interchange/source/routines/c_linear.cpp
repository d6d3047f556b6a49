// Dense layers.
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine c_linear_table[] = {
    {"tile_8", {}, R"(
$function void tile_8(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                      const real *$restrict x, real *$restrict y) {
  real s[8];
  for (int k = 0; k < 8; ++k) s[k] = b[k];
  for (int i = 0; i < inputs; ++i) {
    for (int k = 0; k < 8; ++k) s[k] += x[i] * w[k];
    w += outputs;
  }
  for (int k = 0; k < 8; ++k) y[k] = s[k];
}
)"},
    {"tile_32", {}, R"(
$function void tile_32(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                       const real *$restrict x, real *$restrict y) {
  real s[32];
  for (int k = 0; k < 32; ++k) s[k] = b[k];
  for (int i = 0; i < inputs; ++i) {
    for (int k = 0; k < 32; ++k) s[k] += x[i] * w[k];
    w += outputs;
  }
  for (int k = 0; k < 32; ++k) y[k] = s[k];
}
)"},
    {"tile_64", {}, R"(
/* 64 outputs; w begins at the first of them. Their sums are held in registers. */
$function void tile_64(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                       const real *$restrict x, real *$restrict y) {
  real s[64];
  for (int k = 0; k < 64; ++k) s[k] = b[k];
  for (int i = 0; i < inputs; ++i) {
    for (int k = 0; k < 64; ++k) s[k] += x[i] * w[k];
    w += outputs;
  }
  for (int k = 0; k < 64; ++k) y[k] = s[k];
}
)"},
    {"tile_32x4", {}, R"(
$function void tile_32x4(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                         const real *$restrict x, real *$restrict y) {
  real s0[32], s1[32], s2[32], s3[32];
  for (int k = 0; k < 32; ++k) s0[k] = s1[k] = s2[k] = s3[k] = b[k];
  for (int i = 0; i < inputs; ++i) {
    const real x0 = x[i], x1 = x[inputs + i], x2 = x[2 * inputs + i], x3 = x[3 * inputs + i];
    for (int k = 0; k < 32; ++k) {
      s0[k] += x0 * w[k];
      s1[k] += x1 * w[k];
      s2[k] += x2 * w[k];
      s3[k] += x3 * w[k];
    }
    w += outputs;
  }
  for (int k = 0; k < 32; ++k) {
    y[k] = s0[k];
    y[outputs + k] = s1[k];
    y[2 * outputs + k] = s2[k];
    y[3 * outputs + k] = s3[k];
  }
}
)"},
    {"tile_64x4", {}, R"(
/* 64 outputs of 4 columns. */
$function void tile_64x4(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                         const real *$restrict x, real *$restrict y) {
  real s0[64], s1[64], s2[64], s3[64];
  for (int k = 0; k < 64; ++k) s0[k] = s1[k] = s2[k] = s3[k] = b[k];
  for (int i = 0; i < inputs; ++i) {
    const real x0 = x[i], x1 = x[inputs + i], x2 = x[2 * inputs + i], x3 = x[3 * inputs + i];
    for (int k = 0; k < 64; ++k) {
      s0[k] += x0 * w[k];
      s1[k] += x1 * w[k];
      s2[k] += x2 * w[k];
      s3[k] += x3 * w[k];
    }
    w += outputs;
  }
  for (int k = 0; k < 64; ++k) {
    y[k] = s0[k];
    y[outputs + k] = s1[k];
    y[2 * outputs + k] = s2[k];
    y[3 * outputs + k] = s3[k];
  }
}
)"},
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
