#include "mylos/train/staging.hpp"

namespace mylos {
namespace {

void copy_to_device(const Execution& exec, void* to, const void* from, std::size_t bytes) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  const Kokkos::View<std::byte*, Device, Unmanaged> target(static_cast<std::byte*>(to), bytes);
  const Kokkos::View<const std::byte*, Kokkos::HostSpace, Unmanaged> source(
      static_cast<const std::byte*>(from), bytes);
  Kokkos::deep_copy(exec, target, source);
}

}  // namespace

Staging::Staging(std::int64_t samples, std::int64_t features, std::int64_t outputs, DType type)
    : features_(features), outputs_(outputs) {
  if constexpr (memory_is_host) return;
  answers_ = aligned_bytes(static_cast<std::size_t>(samples * features) * size_of(type));
  arena_ = Arena("staged batch",
                 answers_ + aligned_bytes(static_cast<std::size_t>(samples * outputs) * sizeof(float)));
}

MicroBatch Staging::stage(const Execution& exec, const Batch& batch) const {
  MicroBatch staged;
  staged.first_sample = static_cast<std::uint64_t>(batch.first_sample);
  if constexpr (memory_is_host) {
    // The network only reads its input; Tensor has no const form.
    staged.inputs = Tensor(const_cast<void*>(batch.inputs), batch.type, batch.samples, features_);
    staged.truth = {batch.labels, batch.targets};
  } else {
    staged.inputs = arena_.tensor(0, batch.type, batch.samples, features_);
    copy_to_device(exec, staged.inputs.data(), batch.inputs, staged.inputs.bytes());
    std::byte* answers = arena_.data() + answers_;
    const auto samples = static_cast<std::size_t>(batch.samples);
    if (batch.labels != nullptr) {
      copy_to_device(exec, answers, batch.labels, samples * sizeof(std::int32_t));
      staged.truth.labels = reinterpret_cast<const std::int32_t*>(answers);
    }
    if (batch.targets != nullptr) {
      copy_to_device(exec, answers, batch.targets,
                     samples * static_cast<std::size_t>(outputs_) * sizeof(float));
      staged.truth.targets = reinterpret_cast<const float*>(answers);
    }
    exec.fence("staged batch");
  }
  return staged;
}

}  // namespace mylos
