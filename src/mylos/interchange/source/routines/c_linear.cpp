// Dense layers, and sums and products of rows for their derivatives.
//
// Sums of an output over the inputs are held in registers. For blocks of columns gcc does so if the loop over
// outputs is the outer one, which it vectorises, and clang if the sums are an array and the loop is the inner
// one: the other form is three times slower for each. Six columns and two vectors of outputs take 12 of the
// 16 registers of AVX2.
#include "mylos/interchange/source/routines/c_routines.hpp"
#include "mylos/interchange/source/source_text.hpp"

namespace mylos {
namespace {

constexpr const char* c_tile = R"(
/* $width outputs; w begins at the first of them. */
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

constexpr const char* c_outer_tile = R"(
/* 16 outputs of $columns columns. */
$function void tile_16x$columns(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                         const real *$restrict x, real *$restrict y) {
  for (int k = 0; k < 8; ++k) {
$[    real s$c = b[k], t$c = b[k + 8];
$|$]    for (int i = 0; i < inputs; ++i) {
      const real v = w[i * outputs + k], u = w[i * outputs + k + 8];
$[      s$c += x[$c * inputs + i] * v;
      t$c += x[$c * inputs + i] * u;
$|$]    }
$[    y[$c * outputs + k] = s$c;
    y[$c * outputs + k + 8] = t$c;
$|$]  }
}
)";

constexpr const char* c_inner_tile = R"(
/* $width outputs of $columns columns. */
$function void tile_of_columns(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                            const real *$restrict x, real *$restrict y) {
  real $[s$c[$width]$|, $];
  for (int k = 0; k < $width; ++k) $[s$c[k]$| = $] = b[k];
  for (int i = 0; i < inputs; ++i) {
    const real $[x$c = x[$c * inputs + i]$|, $];
    for (int k = 0; k < $width; ++k) {
$[      s$c[k] += x$c * w[k];
$|$]    }
    w += outputs;
  }
  for (int k = 0; k < $width; ++k) {
$[    y[$c * outputs + k] = s$c[k];
$|$]  }
}
)";

constexpr const char* c_block = R"(
/* y = x W + b for columns, one after the other in x and y, and 16 or more outputs. Tiles begin where a
   complete one has room: the last two may overlap. */
#if defined(__GNUC__) && !defined(__clang__)
$outer5$outer6
$function void linear_block(int columns, int inputs, int outputs, const real *$restrict w,
                            const real *$restrict b, const real *$restrict x, real *$restrict y) {
  for (int tile = 0; tile < outputs; tile += 16) {
    const int o = tile + 16 <= outputs ? tile : outputs - 16;
    int c = 0;
    while (columns - c >= 5) {
      const int count = (columns - c) % 5 == 0 ? 5 : 6;
      const real *xc = x + c * inputs;
      real *yc = y + c * outputs + o;
      if (count == 5) tile_16x5(inputs, outputs, w + o, b + o, xc, yc);
      if (count == 6) tile_16x6(inputs, outputs, w + o, b + o, xc, yc);
      c += count;
    }
    for (; c < columns; ++c) tile_16(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
  }
}
#else
$inner
$function void linear_block(int columns, int inputs, int outputs, const real *$restrict w,
                            const real *$restrict b, const real *$restrict x, real *$restrict y) {
  const int width = outputs < $width ? 16 : $width;
  for (int tile = 0; tile < outputs; tile += width) {
    const int o = tile + width <= outputs ? tile : outputs - width;
    int c = 0;
    for (; width == $width && c + 3 <= columns; c += 3)
      tile_of_columns(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
    for (; c < columns; ++c) {
      if (width == 16) tile_16(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
      if (width == 32) tile_32(inputs, outputs, w + o, b + o, x + c * inputs, y + c * outputs + o);
    }
  }
}
#endif
)";

std::string with_columns(const char* text, int columns) {
  std::string tile = of_columns(text, columns);
  replace_all(tile, "$columns", std::to_string(columns));
  return tile;
}

/// In double a vector has half the numbers.
std::string c_block_text(bool is_double) {
  std::string text = c_block;
  replace_all(text, "$outer5", with_columns(c_outer_tile, 5));
  replace_all(text, "$outer6", with_columns(c_outer_tile, 6));
  replace_all(text, "$inner", with_columns(c_inner_tile, 3));
  return of_width(std::move(text), is_double ? 16 : 32);
}

}  // namespace

std::vector<SourceRoutine> c_linear_routines(bool is_double) {
  return {{"tile_16", {}, of_width(c_tile, 16)},
          {"tile_32", {}, of_width(c_tile, 32)},
          {"tile_64", {}, of_width(c_tile, 64)},
          {"few_outputs", {"dot"}, R"(
/* y = x W + b, with the weights of an output adjacent: W[outputs][inputs]. */
$function void few_outputs(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                           const real *$restrict x, real *$restrict y) {
  for (int o = 0; o < outputs; ++o) y[o] = b[o] + dot(inputs, w + o * inputs, x);
}
)"},
          {"linear", {"tile_16", "tile_32", "tile_64"}, R"(
/* y = x W + b, W[inputs][outputs], for 16 or more outputs. The last tiles may overlap. */
$function void linear(int inputs, int outputs, const real *$restrict w, const real *$restrict b,
                      const real *$restrict x, real *$restrict y) {
  int o = 0;
  for (; o + 64 <= outputs; o += 64) tile_64(inputs, outputs, w + o, b + o, x, y + o);
  for (; o + 32 <= outputs; o += 32) tile_32(inputs, outputs, w + o, b + o, x, y + o);
  for (; o < outputs; o += 16) {
    const int first = o + 16 <= outputs ? o : outputs - 16;
    tile_16(inputs, outputs, w + first, b + first, x, y + first);
  }
}
)"},
          {"linear_block", {"tile_16", "tile_32"}, c_block_text(is_double)},
          {"sum_of_rows", {}, R"(
/* y = the sum of the rows of w, each times its factor. */
$function void sum_of_rows(int rows, int n, const real *$restrict w, const real *$restrict factor,
                           real *$restrict y) {
  for (int k = 0; k < n; ++k) y[k] = 0;
  for (int r = 0; r < rows; ++r) {
    for (int k = 0; k < n; ++k) y[k] += factor[r] * w[k];
    w += n;
  }
}
)"},
          {"row_products", {"dot"}, R"(
/* y = the scalar product of each row of w with x. */
$function void row_products(int rows, int n, const real *$restrict w, const real *$restrict x,
                            real *$restrict y) {
  for (int r = 0; r < rows; ++r) y[r] = dot(n, w + r * n, x);
}
)"}};
}

}  // namespace mylos
