#include "mylos/inference/staging.hpp"

#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

[[maybe_unused]] void copy_to_device(const Execution& exec, void* to, const void* from, std::size_t bytes) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  const Kokkos::View<std::byte*, Device, Unmanaged> target(static_cast<std::byte*>(to), bytes);
  const Kokkos::View<const std::byte*, Kokkos::HostSpace, Unmanaged> source(
      static_cast<const std::byte*>(from), bytes);
  Kokkos::deep_copy(exec, target, source);
}

std::size_t input_bytes(const BatchRows& rows, std::int64_t samples) {
  const std::int64_t values = samples * rows.per_sample * rows.inputs;
  return aligned_bytes(static_cast<std::size_t>(values) * size_of(rows.type));
}

}  // namespace

BatchRows rows_of(const Chain& chain) {
  return {.inputs = chain.inputs(),
          .type = chain.input_type(),
          .truth = chain.prediction() == Prediction::classes ? 1 : chain.outputs(),
          .per_sample = chain.rows_per_sample};
}

BatchRows training_rows_of(const Chain& chain) {
  BatchRows rows = rows_of(chain);
  if (chain.training_inputs > 0) rows.inputs = chain.training_inputs;
  if (chain.training_targets > 0) rows.truth = chain.training_targets;
  return rows;
}

Staging::Staging(const BatchRows& rows, std::int64_t samples) : features_(rows.inputs), outputs_(rows.truth) {
  if constexpr (memory_is_host) return;
  truth_ = input_bytes(rows, samples);
  arena_ = Arena("staged batch", memory_bytes(rows, samples));
}

std::size_t Staging::memory_bytes(const BatchRows& rows, std::int64_t samples) {
  if constexpr (memory_is_host) return 0;
  const std::int64_t truth = samples * rows.per_sample * rows.truth;
  return input_bytes(rows, samples) + aligned_bytes(static_cast<std::size_t>(truth) * sizeof(float));
}

MicroBatch Staging::stage(const Execution& exec, const Batch& batch) const {
  MicroBatch staged;
  staged.first_sample = static_cast<std::uint64_t>(batch.first_sample);
  if constexpr (memory_is_host) {
    staged.inputs = ConstTensor(batch.inputs, batch.type, batch.rows, features_);
    staged.truth = {batch.labels, batch.targets};
  } else {
    const Tensor inputs = arena_.tensor(0, batch.type, batch.rows, features_);
    copy_to_device(exec, inputs.data(), batch.inputs, inputs.bytes());
    staged.inputs = inputs;
    std::byte* truth = arena_.data() + truth_;
    const auto rows = static_cast<std::size_t>(batch.rows);
    if (batch.labels != nullptr) {
      copy_to_device(exec, truth, batch.labels, rows * sizeof(std::int32_t));
      staged.truth.labels = reinterpret_cast<const std::int32_t*>(truth);
    }
    if (batch.targets != nullptr) {
      copy_to_device(exec, truth, batch.targets, rows * static_cast<std::size_t>(outputs_) * sizeof(float));
      staged.truth.targets = reinterpret_cast<const float*>(truth);
    }
  }
  return staged;
}

}  // namespace mylos
