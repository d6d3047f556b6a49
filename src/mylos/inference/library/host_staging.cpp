#include "mylos/inference/library/host_staging.hpp"

#include "mylos/base/tensor_views.hpp"

namespace mylos {
namespace {

template <class T>
using PinnedView = Kokkos::View<T*, Kokkos::SharedHostPinnedSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class T>
PinnedView<T> pinned_part(void* data, std::int64_t count) {
  return PinnedView<T>(static_cast<T*>(data), static_cast<std::size_t>(count));
}

std::size_t staged_bytes(std::int64_t values) {
  return memory_is_host ? 0 : static_cast<std::size_t>(values) * sizeof(float);
}

}  // namespace

HostStaging::HostStaging(std::int64_t values) : on_device_("staged samples", staged_bytes(values)) {
  if (!memory_is_host)  // an empty view would allocate its header
    pinned_ = decltype(pinned_)("staged samples", static_cast<std::size_t>(values));
}

std::size_t HostStaging::memory_bytes(std::int64_t values) {
  return 2 * staged_bytes(values);
}

KernelSamples HostStaging::for_kernels(const Execution& exec, const ArraySamples& array, std::int64_t first,
                                       std::int64_t count, std::int64_t columns) {
  if constexpr (!memory_is_host) {
    if (!array.on_device) {
      exec.fence("staging");  // the last rows have left the host's memory
      read_on_host(array, first, count, columns, pinned_.data());
      const Tensor staged = on_device_.tensor(0, DType::fp32, count, columns);
      Kokkos::deep_copy(exec, staged.flat<float>(), pinned_part<float>(pinned_.data(), staged.size()));
      return {array_of_rows(staged), 0};
    }
  }
  static_cast<void>(exec);
  static_cast<void>(count);
  static_cast<void>(columns);
  return {array, first};
}

void HostStaging::read(const Execution& exec, const ArraySamples& array, std::int64_t first,
                       const ScalingTable& scaling, const Tensor& rows) {
  const KernelSamples samples = for_kernels(exec, array, first, rows.rows(), rows.columns());
  read_samples(exec, samples.array, samples.first, scaling, rows);
}

void HostStaging::write(const Execution& exec, const ConstTensor& rows, const ScalingTable& scaling,
                        const ArraySamples& array, std::int64_t first) {
  if (memory_is_host || array.on_device) return write_samples(exec, rows, scaling, array, first);
  ConstTensor floats = rows;
  if (rows.type() != DType::fp32 || scaling.scale != nullptr) {
    const Tensor staged = on_device_.tensor(0, DType::fp32, rows.rows(), rows.columns());
    write_samples(exec, rows, scaling, array_of_rows(staged), 0);
    floats = staged;
  }
  write_on_host(download(exec, floats), rows.rows(), rows.columns(), array, first);
}

/// Requires a build for devices.
float* HostStaging::download(const Execution& exec, const ConstTensor& floats) {
  if constexpr (!memory_is_host) {
    Kokkos::deep_copy(exec, pinned_part<float>(pinned_.data(), floats.size()), floats.flat<float>());
    exec.fence("samples");
  }
  static_cast<void>(exec);
  static_cast<void>(floats);
  return pinned_.data();
}

float* HostStaging::on_host(const Execution& exec, const Tensor& floats) {
  return memory_is_host ? floats.as<float>() : download(exec, floats);
}

void HostStaging::put_back(const Execution& exec, const Tensor& floats) {
  if constexpr (!memory_is_host)
    Kokkos::deep_copy(exec, floats.flat<float>(), pinned_part<float>(pinned_.data(), floats.size()));
  static_cast<void>(exec);
  static_cast<void>(floats);
}

const std::uint8_t* HostStaging::on_host(const Execution& exec, const std::uint8_t* bytes,
                                         std::int64_t count) {
  if constexpr (!memory_is_host) {
    using Bytes = Kokkos::View<const std::uint8_t*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const PinnedView<std::uint8_t> to = pinned_part<std::uint8_t>(pinned_.data(), count);
    Kokkos::deep_copy(exec, to, Bytes(bytes, static_cast<std::size_t>(count)));
    exec.fence("bytes");
    return to.data();
  }
  static_cast<void>(exec);
  static_cast<void>(count);
  return bytes;
}

}  // namespace mylos
