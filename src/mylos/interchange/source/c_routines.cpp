#include "mylos/interchange/source/c_routines.hpp"

namespace mylos {
namespace {

// The activations' formulas are those of kernels/pointwise/activation.hpp.
const SourceRoutine of_c[] = {
    {"sum", {}, R"(
/* Partial sums: shorter chains of additions. */
$function real sum(int n, const real *$restrict x) {
  real s[16] = {0};
  real total = 0;
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int k = 0; k < 16; ++k) s[k] += x[i + k];
  }
  for (; i < n; ++i) total += x[i];
  for (int k = 0; k < 16; ++k) total += s[k];
  return total;
}
)"},
    {"dot", {}, R"(
$function real dot(int n, const real *x, const real *y) {
  real s[16] = {0};
  real total = 0;
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int k = 0; k < 16; ++k) s[k] += x[i + k] * y[i + k];
  }
  for (; i < n; ++i) total += x[i] * y[i];
  for (int k = 0; k < 16; ++k) total += s[k];
  return total;
}
)"},
    {"copy", {}, R"(
$function void copy(int n, const real *$restrict x, real *$restrict y) {
  for (int i = 0; i < n; ++i) y[i] = x[i];
}
)"},
    {"scale_inputs", {}, R"(
/* In double, as in training: a small spread around a large mean loses nothing. */
$function void scale_inputs(int n, const double *$restrict shift, const double *$restrict scale,
                            const real *$restrict x, real *$restrict y) {
  for (int i = 0; i < n; ++i) y[i] = $real(($double(x[i]) - shift[i]) * scale[i]);
}
)"},
    {"scale_outputs", {}, R"(
$function void scale_outputs(int n, const double *$restrict shift, const double *$restrict scale,
                             const real *$restrict x, real *$restrict y) {
  for (int i = 0; i < n; ++i) y[i] = $real($double(x[i]) * scale[i] + shift[i]);
}
)"},
    {"gaussian", {}, R"(
/* n means and n log variances in; means and standard deviations out. */
$function void gaussian(int n, const double *$restrict shift, const double *$restrict scale,
                        const real *$restrict x, real *$restrict y) {
  for (int i = 0; i < n; ++i) {
    y[i] = $real($double(x[i]) * scale[i] + shift[i]);
    y[n + i] = $real($double($exp($real(0.5) * x[n + i])) * scale[i]);
  }
}
)"},
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
)"},
    {"apply_relu", {}, R"(
$function void apply_relu(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0 : x[i];
}
)"},
    {"apply_gelu", {}, R"(
/* x (1 + erf(x / sqrt(2))) / 2 */
$function void apply_gelu(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i)
    x[i] *= $real(0.5) * (1 + $erf(x[i] * $real(0.70710678118654752)));
}
)"},
    {"apply_gelu_tanh", {}, R"(
/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
$function void apply_gelu_tanh(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) {
    const real inner = $real(0.79788456080286536) * x[i] * (1 + $real(0.044715) * x[i] * x[i]);
    x[i] *= $real(0.5) * (1 + $tanh(inner));
  }
}
)"},
    {"apply_tanh", {}, R"(
$function void apply_tanh(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) x[i] = $tanh(x[i]);
}
)"},
    {"apply_silu", {}, R"(
/* x / (1 + exp(-x)) */
$function void apply_silu(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) x[i] /= 1 + $exp(-x[i]);
}
)"},
    {"sigmoid", {}, R"(
$function void sigmoid(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) x[i] = 1 / (1 + $exp(-x[i]));
}
)"},
    {"softmax", {}, R"(
$function void softmax(int n, real *$restrict x) {
  real largest = x[0];
  real total = 0;
  for (int i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  for (int i = 0; i < n; ++i) {
    x[i] = $exp(x[i] - largest);
    total += x[i];
  }
  for (int i = 0; i < n; ++i) x[i] /= total;
}
)"},
    {"layernorm", {"sum", "dot"}, R"(
$function void layernorm(int n, real epsilon, const real *$restrict w, const real *$restrict b,
                         real *$restrict x) {
  const real mean = sum(n, x) / n;
  for (int i = 0; i < n; ++i) x[i] -= mean;
  const real scale = 1 / $sqrt(dot(n, x, x) / n + epsilon);
  for (int i = 0; i < n; ++i) x[i] = x[i] * scale * w[i] + b[i];
}
)"},
    {"rmsnorm", {"dot"}, R"(
$function void rmsnorm(int n, real epsilon, const real *$restrict w, real *$restrict x) {
  const real scale = 1 / $sqrt(dot(n, x, x) / n + epsilon);
  for (int i = 0; i < n; ++i) x[i] *= scale * w[i];
}
)"},
    {"batchnorm", {}, R"(
/* By the statistics of the training; scale = weight / sqrt(variance + epsilon). */
$function void batchnorm(int n, const real *$restrict mean, const real *$restrict scale,
                         const real *$restrict b, real *$restrict x) {
  for (int i = 0; i < n; ++i) x[i] = (x[i] - mean[i]) * scale[i] + b[i];
}
)"},
    {"add", {}, R"(
$function void add(int n, const real *$restrict x, real *$restrict y) {
  for (int i = 0; i < n; ++i) y[i] += x[i];
}
)"},
    {"add_scaled", {}, R"(
$function void add_scaled(int n, const real *$restrict factor, const real *$restrict x, real *$restrict y) {
  for (int i = 0; i < n; ++i) y[i] += factor[i] * x[i];
}
)"},
    // Derivatives: of routines with the name without "_slope", times dx; x and y are its argument and result.
    {"scale_by", {}, R"(
$function void scale_by(int n, const double *$restrict scale, const real *$restrict dx, real *$restrict dy) {
  for (int i = 0; i < n; ++i) dy[i] = $real($double(dx[i]) * scale[i]);
}
)"},
    {"multiply", {}, R"(
$function void multiply(int n, const real *$restrict factor, const real *$restrict dx,
                        real *$restrict dy) {
  for (int i = 0; i < n; ++i) dy[i] = factor[i] * dx[i];
}
)"},
    {"linear_tangent", {}, R"(
$function void linear_tangent(int inputs, int outputs, const real *$restrict w, const real *$restrict dx,
                              real *$restrict dy) {
  for (int o = 0; o < outputs; ++o) dy[o] = 0;
  for (int i = 0; i < inputs; ++i) {
    for (int o = 0; o < outputs; ++o) dy[o] += dx[i] * w[o];
    w += outputs;
  }
}
)"},
    {"linear_pullback", {"dot"}, R"(
$function void linear_pullback(int inputs, int outputs, const real *$restrict w, const real *$restrict gy,
                               real *$restrict gx) {
  for (int i = 0; i < inputs; ++i) {
    gx[i] = dot(outputs, w, gy);
    w += outputs;
  }
}
)"},
    {"relu_slope", {}, R"(
$function void relu_slope(int n, const real *$restrict x, const real *$restrict dx, real *$restrict dy) {
  for (int i = 0; i < n; ++i) dy[i] = x[i] > 0 ? dx[i] : 0;
}
)"},
    {"gelu_slope", {}, R"(
$function void gelu_slope(int n, const real *$restrict x, const real *$restrict dx, real *$restrict dy) {
  for (int i = 0; i < n; ++i) {
    const real share = $real(0.5) * (1 + $erf(x[i] * $real(0.70710678118654752)));
    const real density = $real(0.39894228040143268) * $exp($real(-0.5) * x[i] * x[i]);
    dy[i] = (share + x[i] * density) * dx[i];
  }
}
)"},
    {"gelu_tanh_slope", {}, R"(
$function void gelu_tanh_slope(int n, const real *$restrict x, const real *$restrict dx,
                               real *$restrict dy) {
  for (int i = 0; i < n; ++i) {
    const real square = x[i] * x[i];
    const real t = $tanh($real(0.79788456080286536) * x[i] * (1 + $real(0.044715) * square));
    const real inner_slope = $real(0.79788456080286536) * (1 + $real(0.134145) * square);
    dy[i] = $real(0.5) * (1 + t + x[i] * (1 - t * t) * inner_slope) * dx[i];
  }
}
)"},
    {"tanh_slope", {}, R"(
$function void tanh_slope(int n, const real *$restrict x, const real *$restrict dx, real *$restrict dy) {
  for (int i = 0; i < n; ++i) {
    const real t = $tanh(x[i]);
    dy[i] = (1 - t * t) * dx[i];
  }
}
)"},
    {"silu_slope", {}, R"(
$function void silu_slope(int n, const real *$restrict x, const real *$restrict dx, real *$restrict dy) {
  for (int i = 0; i < n; ++i) {
    const real share = 1 / (1 + $exp(-x[i]));
    dy[i] = share * (1 + x[i] * (1 - share)) * dx[i];
  }
}
)"},
    {"sigmoid_slope", {}, R"(
$function void sigmoid_slope(int n, const real *$restrict y, const real *$restrict dx,
                             real *$restrict dy) {
  for (int i = 0; i < n; ++i) dy[i] = y[i] * (1 - y[i]) * dx[i];
}
)"},
    {"softmax_slope", {"dot"}, R"(
$function void softmax_slope(int n, const real *$restrict y, const real *$restrict dx,
                             real *$restrict dy) {
  const real mean = dot(n, y, dx);
  for (int i = 0; i < n; ++i) dy[i] = y[i] * (dx[i] - mean);
}
)"},
    {"gaussian_slope", {}, R"(
$function void gaussian_slope(int n, const double *$restrict scale, const real *$restrict y,
                              const real *$restrict dx, real *$restrict dy) {
  for (int i = 0; i < n; ++i) {
    dy[i] = $real($double(dx[i]) * scale[i]);
    dy[n + i] = $real(0.5) * y[n + i] * dx[n + i];
  }
}
)"},
    {"layernorm_slope", {"sum", "dot"}, R"(
/* Without the weights. dy also holds the normalised x in between. */
$function void layernorm_slope(int n, real epsilon, const real *$restrict x, const real *$restrict dx,
                               real *$restrict dy) {
  const real mean = sum(n, x) / n;
  for (int i = 0; i < n; ++i) dy[i] = x[i] - mean;
  const real scale = 1 / $sqrt(dot(n, dy, dy) / n + epsilon);
  for (int i = 0; i < n; ++i) dy[i] *= scale;
  const real shift = sum(n, dx) / n;
  const real slope = dot(n, dy, dx) / n;
  for (int i = 0; i < n; ++i) dy[i] = scale * (dx[i] - shift - dy[i] * slope);
}
)"},
    {"rmsnorm_slope", {"dot"}, R"(
/* Without the weights. dy also holds the normalised x in between. */
$function void rmsnorm_slope(int n, real epsilon, const real *$restrict x, const real *$restrict dx,
                             real *$restrict dy) {
  const real scale = 1 / $sqrt(dot(n, x, x) / n + epsilon);
  for (int i = 0; i < n; ++i) dy[i] = x[i] * scale;
  const real slope = dot(n, dy, dx) / n;
  for (int i = 0; i < n; ++i) dy[i] = scale * (dx[i] - dy[i] * slope);
}
)"}};

const SourceRoutine of_teams[] = {{"linear", {}, R"(
template <class Team>
KOKKOS_INLINE_FUNCTION void team_linear(const Team &team, int inputs, int outputs, const real *w,
                                        const real *b, const real *x, real *y) {
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, outputs), [=](int o) {
    real s = b[o];
    for (int i = 0; i < inputs; ++i) s += x[i] * w[i * outputs + o];
    y[o] = s;
  });
}
)"},
                                  {"layernorm", {}, R"(
template <class Team>
KOKKOS_INLINE_FUNCTION void team_layernorm(const Team &team, int n, real epsilon, const real *w,
                                           const real *b, real *x) {
  real total = 0, squares = 0;
  const auto range = Kokkos::TeamVectorRange(team, n);
  Kokkos::parallel_reduce(range, [=](int i, real &s) { s += x[i]; }, total);
  const real mean = total / n;
  Kokkos::parallel_reduce(range, [=](int i, real &s) { s += (x[i] - mean) * (x[i] - mean); }, squares);
  const real scale = 1 / math::sqrt(squares / n + epsilon);
  team.team_barrier();
  Kokkos::parallel_for(range, [=](int i) { x[i] = (x[i] - mean) * scale * w[i] + b[i]; });
}
)"},
                                  {"rmsnorm", {}, R"(
template <class Team>
KOKKOS_INLINE_FUNCTION void team_rmsnorm(const Team &team, int n, real epsilon, const real *w, real *x) {
  real squares = 0;
  const auto range = Kokkos::TeamVectorRange(team, n);
  Kokkos::parallel_reduce(range, [=](int i, real &s) { s += x[i] * x[i]; }, squares);
  const real scale = 1 / math::sqrt(squares / n + epsilon);
  team.team_barrier();
  Kokkos::parallel_for(range, [=](int i) { x[i] *= scale * w[i]; });
}
)"}};

}  // namespace

std::span<const SourceRoutine> c_routines() {
  return of_c;
}

std::span<const SourceRoutine> team_routines() {
  return of_teams;
}

}  // namespace mylos
