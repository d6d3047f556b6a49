// What the tests of attention share: a batch with its results, and its inputs for the reference.
#pragma once

#include <memory>

#include "kernels/batching_engine.hpp"
#include "kernels/matrix.hpp"
#include "kernels/reference_attention.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos::attention_test {

using test::Doubles;
using test::HeadInputs;
using test::HeadResults;

inline constexpr std::uint64_t first_sample = 1000;
inline constexpr std::uint64_t step = 17;

/// Returns whether the GEMM engine has batches. On devices this selects the implementation of attention: by
/// GEMMs or row by row. Hosts have one implementation.
inline std::vector<bool> batching_choices() {
  return runs_on_host ? std::vector{false} : std::vector{false, true};
}

/// A batch with its results after forward and backward.
struct AttentionCase {
  AttentionCase(const AttentionShape& batch_shape, float probability, bool batches, float size = 1.5f)
      : gemm(batches),
        shape(batch_shape),
        dropout{RandomStream(5, RandomPurpose::dropout, "attention1"), probability, step_value.data(),
                first_sample},
        qkv(shape.type, shape.rows(), 3 * shape.width(),
            test::random_values(shape.type, shape.rows() * 3 * shape.width(), -size, size, 1)),
        d_output(shape.type, shape.rows(), shape.width(),
                 test::random_values(shape.type, shape.rows() * shape.width(), -1, 1, 2)),
        output(shape.type, shape.rows(), shape.width()),
        d_qkv(shape.type, shape.rows(), 3 * shape.width()),
        log_sums(DType::fp32, 1, shape.rows() * shape.heads),
        workspace("workspace", std::max(attention_forward_workspace(gemm, shape),
                                        attention_backward_workspace(gemm, shape))) {}
  void run(const Execution& exec = {}) const {
    attention_forward(exec, gemm, shape, qkv, output, log_sums.floats(), dropout, workspace.data());
    attention_backward(exec, gemm, shape, qkv, output, log_sums.floats(), d_output, d_qkv, dropout,
                       workspace.data());
    exec.fence();
  }

  mutable test::BatchingEngine gemm;
  test::DeviceValue<std::uint64_t> step_value{step};
  AttentionShape shape;
  Dropout dropout;
  test::Matrix qkv, d_output, output, d_qkv, log_sums;
  Arena workspace;
};

/// Columns [first, first + width) of a sample's rows.
inline Doubles part(const std::vector<float>& values, std::int64_t columns, std::int64_t first_row,
                    std::int64_t rows, std::int64_t first, std::int64_t width) {
  Doubles result(static_cast<std::size_t>(rows), static_cast<std::size_t>(width));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      result(static_cast<std::size_t>(row), static_cast<std::size_t>(column)) =
          values[static_cast<std::size_t>((first_row + row) * columns + first + column)];
    }
  }
  return result;
}

inline Doubles dropout_factors(const AttentionCase& batch, std::int64_t sample, std::int64_t head) {
  const auto length = static_cast<std::uint64_t>(batch.shape.length);
  const auto heads = static_cast<std::uint64_t>(batch.shape.heads);
  const double kept = 1.0 - static_cast<double>(batch.dropout.probability);
  Doubles factor(length, length);
  for (std::uint64_t i = 0; i < length; ++i) {
    const std::uint64_t row =
        ((first_sample + static_cast<std::uint64_t>(sample)) * heads + static_cast<std::uint64_t>(head)) *
            length +
        i;
    for (std::uint64_t j = 0; j < length; ++j) {
      const bool survives = batch.dropout.stream.word(step, row, j) < kept * 4294967295.0;
      factor(i, j) = !batch.dropout.active() ? 1 : survives ? 1 / kept : 0;
    }
  }
  return factor;
}

inline HeadInputs inputs_of(const AttentionCase& batch, std::int64_t sample, std::int64_t head) {
  const AttentionShape& shape = batch.shape;
  const auto qkv = batch.qkv.values();
  const auto cut = [&](std::int64_t third) {
    return part(qkv, 3 * shape.width(), sample * shape.length, shape.length,
                third * shape.width() + head * shape.head_width, shape.head_width);
  };
  return {cut(0),
          cut(1),
          cut(2),
          dropout_factors(batch, sample, head),
          part(batch.d_output.values(), shape.width(), sample * shape.length, shape.length,
               head * shape.head_width, shape.head_width),
          shape.causal};
}

/// Returns the possible difference of two results of the same operands if a GEMM engine chooses its order of
/// sums by the number of GEMMs.
inline double other_sums(DType type, bool batches) {
  return batches ? 4 * test::rounding_error(type, 1) : 0;
}

}  // namespace mylos::attention_test
