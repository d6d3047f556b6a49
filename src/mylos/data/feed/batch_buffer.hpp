// BatchBuffer: the host memory of one batch, and the normalisation and conversion of stored samples into it.
#pragma once

#include <cstdint>

#include "mylos/data/feed/batch.hpp"
#include "mylos/data/feed/sample_source.hpp"
#include "mylos/data/files/host_array.hpp"
#include "mylos/data/files/sample_store.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {

class BatchBuffer {
 public:
  /// `keeps_missing`: inputs that are missing are NaN, and not 0.
  BatchBuffer(const DatasetShape& shape, DType type, std::int64_t capacity, bool keeps_missing = false);

  /// Writes `sample`, normalised and rounded to the buffer's type, to row `row`. Where numbers may be missing
  /// (SampleStore::missing), an input that is NaN becomes 0, a target stays NaN. Throws Error (bad_input)
  /// that names file, row and column (of the file) if a value is not finite or too large for the type, or if
  /// the label is not a class.
  void put(std::int64_t row, const Sample& sample, const SampleStore& store, const Normalizer& normalizer);
  [[nodiscard]] Batch batch(std::int64_t samples, std::int64_t first_sample, std::int64_t step) const;

  [[nodiscard]] static std::int64_t memory_bytes(const DatasetShape& shape, DType type,
                                                 std::int64_t capacity);

 private:
  DType type_;
  bool keeps_missing_;
  HostBytes inputs_;
  HostArray<std::int32_t> labels_;
  HostArray<float> targets_;
};

}  // namespace mylos
