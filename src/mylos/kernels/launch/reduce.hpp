// Reductions of tensors in device memory, to numbers or to a row. Results do not depend on the number of
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/device_array.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// The elements of a tensor, and the first of their blocks.
struct SummedTensor {
  const void* elements;
  std::int64_t count;
  std::int64_t first_block;
  DType type;
};

/// Sums the squares of the elements of each of several tensors, in two launches for all of them.
class SumsOfSquares {
 public:
  explicit SumsOfSquares(std::span<const Tensor> tensors);
  /// Returns the bytes of device memory for tensors of these lengths.
  [[nodiscard]] static std::size_t memory_bytes(std::span<const std::int64_t> lengths);

  /// Writes the sum of tensor i, in double, to results[i]. It is infinite or NaN if and only if an element
  /// is.
  void run(const Execution& exec, double* results) const;

 private:
  std::int64_t blocks_ = 0;
  DeviceArray<SummedTensor> tensors_;
  Arena partial_sums_;  // of each block
};

/// Computes sum = sum of the rows of parts [parts, numbers], or adds it to `sum` if `accumulate`, by the
/// binary tree over the parts (binary_tree.hpp): with the bits of a sum over ranks that have one each. Both
/// are floats or doubles; sum: as many numbers as a row.
void add_rows_by_tree(const Execution& exec, const ConstTensor& parts, const Tensor& sum, bool accumulate);

/// Writes the index of the first element that is infinite or NaN to *index; -1 if there is none. For
/// diagnosis only: it is slow, because it uses only the threads of one row.
void first_nonfinite(const Execution& exec, const ConstTensor& tensor, std::int64_t* index);

}  // namespace mylos
