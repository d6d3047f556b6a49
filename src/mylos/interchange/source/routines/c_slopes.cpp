// Derivatives: of the routine with the name without "_slope", times dx; x and y are its argument and result.
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine c_slope_table[] = {{"scale_by", {}, R"(
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

}  // namespace

std::span<const SourceRoutine> c_slope_routines() {
  return c_slope_table;
}

}  // namespace mylos
