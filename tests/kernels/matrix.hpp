// What the kernel tests share: matrices that own their memory, and random values that their type can
// represent.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "mylos/base/execution.hpp"
#include "support/device_values.hpp"
#include "support/executions.hpp"
#include "support/rounding.hpp"

namespace mylos::test {

inline constexpr DType all_types[] = {DType::fp32, DType::fp16, DType::bf16};

/// Returns `count` values in [low, high) that `type` can represent.
inline std::vector<float> random_values(DType type, std::int64_t count, float low, float high,
                                        unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(rounded_to(type, distribution(generator)));
  return values;
}

/// A tensor that owns its memory.
class Matrix {
 public:
  Matrix(DType type, std::int64_t rows, std::int64_t columns)
      : arena_("test matrix", static_cast<std::size_t>(rows * columns) * size_of(type)),
        tensor_(arena_.tensor(0, type, rows, columns)) {}
  Matrix(DType type, std::int64_t rows, std::int64_t columns, const std::vector<float>& values)
      : Matrix(type, rows, columns) {
    set_values(tensor_, values);
  }

  operator const Tensor&() const { return tensor_; }  // NOLINT: a Matrix is a Tensor to the kernels
  operator ConstTensor() const { return tensor_; }    // NOLINT
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] std::vector<float> values() const { return values_of(tensor_); }
  [[nodiscard]] std::vector<std::byte> bytes() const { return bytes_of(tensor_); }
  /// The elements of a matrix of floats.
  [[nodiscard]] float* floats() const { return tensor_.as<float>(); }

 private:
  Arena arena_;
  Tensor tensor_;
};

/// Returns a second execution instance, with half the threads if threads can be divided.
inline Execution narrower_execution() {
  const Execution whole;
  return Kokkos::Experimental::partition_space(whole, 1, 1)[0];
}

}  // namespace mylos::test
