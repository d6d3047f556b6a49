// BatchOfZeros: a batch for a rank that has none of its own, but whose pass other ranks wait for.
#pragma once

#include "mylos/base/device/arena.hpp"
#include "mylos/inference/staging.hpp"
#include "mylos/model/network/micro_batch.hpp"

namespace mylos {

class BatchOfZeros {
 public:
  /// Allocates the batch. All labels are class 0.
  BatchOfZeros(const Chain& chain, std::int64_t samples) {
    const BatchRows of = training_rows_of(chain);
    const std::int64_t rows = samples * chain.rows_per_sample;
    const std::size_t inputs = aligned_bytes(static_cast<std::size_t>(rows * of.inputs) * size_of(of.type));
    memory_ = Arena("batch of zeros",
                    inputs + aligned_bytes(static_cast<std::size_t>(rows * of.truth) * sizeof(float)));
    batch_.inputs = memory_.tensor(0, of.type, rows, of.inputs);
    const Tensor truth = memory_.tensor(inputs, DType::fp32, rows, of.truth);
    if (chain.prediction() == Prediction::classes) {
      batch_.truth.labels = static_cast<const std::int32_t*>(truth.data());
    } else {
      batch_.truth.targets = truth.as<float>();
    }
  }

  [[nodiscard]] const MicroBatch& batch() const { return batch_; }

 private:
  Arena memory_;  // zeros
  MicroBatch batch_;
};

}  // namespace mylos
