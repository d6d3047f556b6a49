// Scaling, activations, norms, sums. The activations' formulas are those of kernels/pointwise/activation.hpp.
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine c_element_table[] = {{"sum", {}, R"(
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
                                         {"apply_gelu_tanh", {"expm1_of"}, R"(
/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
$function void apply_gelu_tanh(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) {
    const real inner = $real(0.79788456080286536) * x[i] * (1 + $real(0.044715) * x[i] * x[i]);
    const real t = expm1_of(2 * inner);
    x[i] *= (t + 1) / (t + 2);
  }
}
)"},
                                         {"apply_tanh", {"expm1_of"}, R"(
/* t / (t + 2), t = e^(2x) - 1 */
$function void apply_tanh(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) {
    const real t = expm1_of(2 * x[i]);
    x[i] = t / (t + 2);
  }
}
)"},
                                         {"apply_silu", {"expm1_of"}, R"(
/* x / (1 + exp(-x)) */
$function void apply_silu(int n, real *$restrict x) {
  for (int i = 0; i < n; ++i) x[i] /= 2 + expm1_of(-x[i]);
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
)"}};

}  // namespace

std::span<const SourceRoutine> c_element_routines() {
  return c_element_table;
}

}  // namespace mylos
