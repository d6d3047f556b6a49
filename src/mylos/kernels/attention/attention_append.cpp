#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/launch/math.hpp"

namespace mylos {
namespace {

/// The maximum number of rows that are processed at a time. It bounds the workspace of long prompts.
constexpr std::int64_t max_rows = 64;

template <class T>
struct Append {
  const T* qkv;
  T* keys;
  T* values;
  T* output;
  float* probabilities;  // [rows, heads, length]
  std::int64_t length;
  std::int64_t heads;
  std::int64_t head_width;
  std::int64_t first_position;
};

template <class T>
void copy_into_cache(const Execution& exec, const Append<T>& append, std::int64_t rows) {
  const std::int64_t width = append.heads * append.head_width;
  for_each_element(
      exec, "attention_keys", rows * width, KOKKOS_LAMBDA(std::int64_t i) {
        const T* row = append.qkv + i / width * (3 * width) + i % width;
        const std::int64_t target = append.first_position * width + i;
        append.keys[target] = row[width];
        append.values[target] = row[2 * width];
      });
}

template <class T>
void find_probabilities(const Execution& exec, const Append<T>& append, std::int64_t rows) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(append.head_width));
  for_each_row(
      exec, "attention_p", rows * append.heads, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t head_width = append.head_width;
        const std::int64_t width = append.heads * head_width;
        const std::int64_t head = index % append.heads;
        const std::int64_t count = append.first_position + index / append.heads + 1;
        const T* q = append.qkv + index / append.heads * (3 * width) + head * head_width;
        const T* k = append.keys + head * head_width;
        float* p = append.probabilities + index * append.length;
        row.for_each(count, [=](std::int64_t j) {
          float dot = 0;
          for (std::int64_t c = 0; c < head_width; ++c) dot += to_float(q[c]) * to_float(k[j * width + c]);
          p[j] = dot * scale;
        });
        const float largest = row.max(count, [=](std::int64_t j) { return p[j]; });
        const float sum = row.sum(count, [=](std::int64_t j) { return math::exp(p[j] - largest); });
        const float inverse_sum = 1.0f / sum;
        row.for_each(count, [=](std::int64_t j) { p[j] = math::exp(p[j] - largest) * inverse_sum; });
      });
}

template <class T>
void weigh_values(const Execution& exec, const Append<T>& append, std::int64_t rows) {
  for_each_row(
      exec, "attention_pv", rows * append.heads, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t head_width = append.head_width;
        const std::int64_t width = append.heads * head_width;
        const std::int64_t count = append.first_position + index / append.heads + 1;
        const T* v = append.values + index % append.heads * head_width;
        const float* p = append.probabilities + index * append.length;
        T* out = append.output + index * head_width;
        row.for_each(head_width, [=](std::int64_t c) {
          float sum = 0;
          for (std::int64_t j = 0; j < count; ++j) sum += p[j] * to_float(v[j * width + c]);
          out[c] = from_float<T>(sum);
        });
      });
}

template <class T>
void append_rows(const Execution& exec, const AttentionShape& shape, const Tensor& qkv,
                 std::int64_t first_position, const Tensor& keys, const Tensor& values, const Tensor& output,
                 void* workspace) {
  const Append<T> append{
      qkv.as<T>(),  keys.as<T>(), values.as<T>(),   output.as<T>(), static_cast<float*>(workspace),
      shape.length, shape.heads,  shape.head_width, first_position};
  copy_into_cache(exec, append, qkv.rows());
  find_probabilities(exec, append, qkv.rows());
  weigh_values(exec, append, qkv.rows());
}

}  // namespace

std::size_t attention_append_workspace(const AttentionShape& shape, std::int64_t rows) {
  return static_cast<std::size_t>(std::min(rows, max_rows) * shape.heads * shape.length) * sizeof(float);
}

void attention_append(const Execution& exec, const AttentionShape& shape, const Tensor& qkv_rows,
                      std::int64_t first_position, const Tensor& keys, const Tensor& values,
                      const Tensor& output, void* workspace) {
  for (std::int64_t row = 0; row < qkv_rows.rows(); row += max_rows) {
    const std::int64_t rows = std::min(max_rows, qkv_rows.rows() - row);
    dispatch(shape.type, [&](auto type) {
      append_rows<typename decltype(type)::type>(exec, shape, qkv_rows.row_range(row, rows),
                                                 first_position + row, keys, values,
                                                 output.row_range(row, rows), workspace);
    });
  }
}

}  // namespace mylos
