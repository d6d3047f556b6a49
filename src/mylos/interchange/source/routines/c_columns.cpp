// Windows of columns: what convolutions see, and pools. All have the arguments of SourceWindows first.
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

const SourceRoutine c_column_table[] = {{"point_at", {}, R"(
/* The point of a column at p, which may lie beyond its ends. edges: 0 none there (-1), 1 the column repeats,
   2 it is mirrored at its last points. */
$function int point_at(int p, int points, int edges) {
  if (p >= 0 && p < points) return p;
  if (edges == 1) return p < 0 ? p + points : p - points;
  if (edges == 2) return p < 0 ? -p : 2 * (points - 1) - p;
  return -1;
}
)"},
                                        {"gather", {"point_at"}, R"(
/* y[count][taps][channels]: what each window sees of x[points][channels]. */
$function void gather(int points, int channels, int count, int taps, int stride, int dilation, int padding,
                      int edges, const real *$restrict x, real *$restrict y) {
  for (int q = 0; q < count; ++q) {
    for (int t = 0; t < taps; ++t) {
      const int p = point_at(q * stride + t * dilation - padding, points, edges);
      for (int k = 0; k < channels; ++k) y[k] = p < 0 ? 0 : x[p * channels + k];
      y += channels;
    }
  }
}
)"},
                                        {"gather_pullback", {"point_at"}, R"(
$function void gather_pullback(int points, int channels, int count, int taps, int stride, int dilation,
                               int padding, int edges, const real *$restrict gy, real *$restrict gx) {
  for (int i = 0; i < points * channels; ++i) gx[i] = 0;
  for (int q = 0; q < count; ++q) {
    for (int t = 0; t < taps; ++t) {
      const int p = point_at(q * stride + t * dilation - padding, points, edges);
      for (int k = 0; p >= 0 && k < channels; ++k) gx[p * channels + k] += gy[k];
      gy += channels;
    }
  }
}
)"},
                                        {"maximum_in", {"point_at"}, R"(
/* The first point with the maximum of window q, or the first with NaN; x: of one channel. */
$function int maximum_in(int q, int points, int channels, int taps, int stride, int dilation, int padding,
                         int edges, const real *x) {
  int first = -1;
  for (int t = 0; t < taps; ++t) {
    const int p = point_at(q * stride + t * dilation - padding, points, edges);
    if (p < 0) continue;
    if (first < 0 || (!(x[p * channels] <= x[first * channels]) && x[first * channels] <= x[first * channels]))
      first = p;
  }
  return first;
}
)"},
                                        {"max_pool", {"maximum_in"}, R"(
$function void max_pool(int points, int channels, int count, int taps, int stride, int dilation, int padding,
                        int edges, const real *$restrict x, real *$restrict y) {
  for (int q = 0; q < count; ++q) {
    for (int k = 0; k < channels; ++k) {
      const int p = maximum_in(q, points, channels, taps, stride, dilation, padding, edges, x + k);
      y[q * channels + k] = x[p * channels + k];
    }
  }
}
)"},
                                        {"max_pool_tangent", {"maximum_in"}, R"(
$function void max_pool_tangent(int points, int channels, int count, int taps, int stride, int dilation,
                                int padding, int edges, const real *$restrict x, const real *$restrict dx,
                                real *$restrict dy) {
  for (int q = 0; q < count; ++q) {
    for (int k = 0; k < channels; ++k) {
      const int p = maximum_in(q, points, channels, taps, stride, dilation, padding, edges, x + k);
      dy[q * channels + k] = dx[p * channels + k];
    }
  }
}
)"},
                                        {"max_pool_pullback", {"maximum_in"}, R"(
$function void max_pool_pullback(int points, int channels, int count, int taps, int stride, int dilation,
                                 int padding, int edges, const real *$restrict x, const real *$restrict gy,
                                 real *$restrict gx) {
  for (int i = 0; i < points * channels; ++i) gx[i] = 0;
  for (int q = 0; q < count; ++q) {
    for (int k = 0; k < channels; ++k) {
      const int p = maximum_in(q, points, channels, taps, stride, dilation, padding, edges, x + k);
      gx[p * channels + k] += gy[q * channels + k];
    }
  }
}
)"},
                                        {"points_in", {"point_at"}, R"(
/* How many points of the column window q sees. */
$function int points_in(int q, int points, int taps, int stride, int dilation, int padding, int edges) {
  int seen = 0;
  for (int t = 0; t < taps; ++t)
    seen += point_at(q * stride + t * dilation - padding, points, edges) >= 0;
  return seen;
}
)"},
                                        {"average_pool", {"points_in"}, R"(
$function void average_pool(int points, int channels, int count, int taps, int stride, int dilation,
                            int padding, int edges, const real *$restrict x, real *$restrict y) {
  for (int q = 0; q < count; ++q) {
    const int seen = points_in(q, points, taps, stride, dilation, padding, edges);
    for (int k = 0; k < channels; ++k) y[k] = 0;
    for (int t = 0; t < taps; ++t) {
      const int p = point_at(q * stride + t * dilation - padding, points, edges);
      for (int k = 0; p >= 0 && k < channels; ++k) y[k] += x[p * channels + k];
    }
    for (int k = 0; k < channels; ++k) y[k] /= seen;
    y += channels;
  }
}
)"},
                                        {"average_pool_pullback", {"points_in"}, R"(
$function void average_pool_pullback(int points, int channels, int count, int taps, int stride, int dilation,
                                     int padding, int edges, const real *$restrict gy, real *$restrict gx) {
  for (int i = 0; i < points * channels; ++i) gx[i] = 0;
  for (int q = 0; q < count; ++q) {
    const int seen = points_in(q, points, taps, stride, dilation, padding, edges);
    for (int t = 0; t < taps; ++t) {
      const int p = point_at(q * stride + t * dilation - padding, points, edges);
      for (int k = 0; p >= 0 && k < channels; ++k) gx[p * channels + k] += gy[k] / seen;
    }
    gy += channels;
  }
}
)"}};

}  // namespace

std::span<const SourceRoutine> c_column_routines() {
  return c_column_table;
}

}  // namespace mylos
