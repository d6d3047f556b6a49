// The buffers of the passes of a spectral convolution.
#pragma once

#include <algorithm>

#include "mylos/base/alignment.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/spectral/spectral.hpp"

namespace mylos {

inline std::size_t element_bytes(std::int64_t elements, DType type) {
  return static_cast<std::size_t>(elements) * size_of(type);
}

inline std::size_t bytes_of_results(const GemmBatch& batch) {
  return element_bytes(batch.count * batch.stride_c, batch.one.c);
}

/// Two buffers that the values of a pass use alternately, and the workspace of its GEMMs. Each pass first
/// counts the sizes of its values and then, with memory, takes them in the same order.
class SpectralConvolution::Buffers {
 public:
  /// Counts the bytes of the values.
  Buffers() = default;
  /// Takes the memory that `counted` has counted.
  Buffers(const Buffers& counted, Pieces& pieces) {
    for (int i = 0; i < 2; ++i) data_[i] = pieces.take_bytes(counted.bytes_[i]);
    gemm_ = pieces.take_bytes(counted.gemm_bytes_);
  }

  /// Returns the bytes of the memory that has been counted.
  [[nodiscard]] std::size_t memory_bytes() const {
    return bytes_[0] + bytes_[1] + aligned_bytes(gemm_bytes_);
  }

  std::byte* next(std::size_t bytes) {
    current_ = 1 - current_;
    bytes_[current_] = std::max(bytes_[current_], aligned_bytes(bytes));
    return data_[current_];
  }

  void count_workspace(const GemmEngine& engine, const GemmBatch& batch) {
    gemm_bytes_ = std::max(gemm_bytes_, engine.batch_workspace_bytes(batch));
  }
  /// Counts what multiply() takes.
  void count(const GemmEngine& engine, const GemmBatch& batch) {
    next(bytes_of_results(batch));
    count_workspace(engine, batch);
  }

  void multiply(const SpectralStep& step, const GemmBatch& batch, const GemmOperands& first) const {
    step.engines.gemm.run_batched(step.exec, batch, first, gemm_);
  }
  /// Takes the turn of a multiply() whose results are not needed: later ones lie where they were counted.
  void skip(const GemmBatch& batch) { next(bytes_of_results(batch)); }
  /// Returns the results, in the next buffer.
  void* multiply(const SpectralStep& step, const GemmBatch& batch, const void* a, const void* b) {
    void* const c = next(bytes_of_results(batch));
    multiply(step, batch, {a, b, c});
    return c;
  }

 private:
  std::size_t bytes_[2] = {};
  std::size_t gemm_bytes_ = 0;
  std::byte* data_[2] = {};
  std::byte* gemm_ = nullptr;
  int current_ = 1;
};

}  // namespace mylos
