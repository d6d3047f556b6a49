// Attention of one head in double, directly from its formulas, with the bounds of a kernel's rounding
// errors.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace mylos::test {

/// A row-major matrix of doubles.
struct Doubles {
  Doubles() = default;
  Doubles(std::size_t rows, std::size_t width) : columns(width), values(rows * width) {}
  double& operator()(std::size_t row, std::size_t column) { return values[row * columns + column]; }
  double operator()(std::size_t row, std::size_t column) const { return values[row * columns + column]; }

  std::size_t columns = 0;
  std::vector<double> values;
};

struct HeadInputs {
  Doubles q, k, v;   // [length, head_width]
  Doubles factor;    // [length, length]: the dropout factors of the probabilities
  Doubles d_output;  // [length, head_width]
  bool causal = true;

  std::size_t length() const { return q.values.size() / q.columns; }
  std::size_t seen(std::size_t i) const { return causal ? i + 1 : length(); }
};

/// Each result with its magnitude: the same sum over the absolute values of its terms.
struct HeadResults {
  Doubles output, d_q, d_k, d_v;
  Doubles output_size, d_q_size, d_k_size, d_v_size;
};

inline Doubles head_probabilities(const HeadInputs& in) {
  const std::size_t length = in.length();
  const double scale = 1 / std::sqrt(static_cast<double>(in.q.columns));
  Doubles p(length, length);
  for (std::size_t i = 0; i < length; ++i) {
    double largest = -1e300;
    for (std::size_t j = 0; j < in.seen(i); ++j) {
      for (std::size_t c = 0; c < in.q.columns; ++c) p(i, j) += scale * in.q(i, c) * in.k(j, c);
      largest = std::max(largest, p(i, j));
    }
    double sum = 0;
    for (std::size_t j = 0; j < in.seen(i); ++j) sum += std::exp(p(i, j) - largest);
    for (std::size_t j = 0; j < in.seen(i); ++j) p(i, j) = std::exp(p(i, j) - largest) / sum;
  }
  return p;
}

inline HeadResults reference_head(const HeadInputs& in) {
  const std::size_t length = in.length();
  const std::size_t width = in.q.columns;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const Doubles p = head_probabilities(in);
  HeadResults out;
  for (Doubles* matrix : {&out.output, &out.d_q, &out.d_k, &out.d_v, &out.output_size, &out.d_q_size,
                          &out.d_k_size, &out.d_v_size}) {
    *matrix = Doubles(length, width);
  }
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t j = 0; j < in.seen(i); ++j) {
      for (std::size_t c = 0; c < width; ++c) {
        const double weight = p(i, j) * in.factor(i, j);
        out.output(i, c) += weight * in.v(j, c);
        out.output_size(i, c) += weight * std::abs(in.v(j, c));
        out.d_v(j, c) += weight * in.d_output(i, c);
        out.d_v_size(j, c) += weight * std::abs(in.d_output(i, c));
      }
    }
    double mean = 0;  // of d_p over the row's probabilities
    double mean_size = 0;
    for (std::size_t c = 0; c < width; ++c) {
      mean += out.output(i, c) * in.d_output(i, c);
      mean_size += out.output_size(i, c) * std::abs(in.d_output(i, c));
    }
    for (std::size_t j = 0; j < in.seen(i); ++j) {
      double d_p = 0;
      double d_p_size = 0;
      for (std::size_t c = 0; c < width; ++c) {
        d_p += in.factor(i, j) * in.d_output(i, c) * in.v(j, c);
        d_p_size += in.factor(i, j) * std::abs(in.d_output(i, c) * in.v(j, c));
      }
      const double d_s = scale * p(i, j) * (d_p - mean);
      const double d_s_size = scale * p(i, j) * (d_p_size + mean_size);
      for (std::size_t c = 0; c < width; ++c) {
        out.d_q(i, c) += d_s * in.k(j, c);
        out.d_q_size(i, c) += d_s_size * std::abs(in.k(j, c));
        out.d_k(j, c) += d_s * in.q(i, c);
        out.d_k_size(j, c) += d_s_size * std::abs(in.q(i, c));
      }
    }
  }
  return out;
}

}  // namespace mylos::test
