#include "support/device_values.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"

namespace mylos::test {

float rounded_to(DType type, float value) {
  return dispatch(type, [&]<class T>(TypeTag<T>) { return to_float(from_float<T>(value)); });
}

void copy_to_host(const void* from, void* to, std::size_t bytes) {
  using Source = Kokkos::View<const std::byte*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Target = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Target(static_cast<std::byte*>(to), bytes),
                    Source(static_cast<const std::byte*>(from), bytes));
}

void copy_to_device(const void* from, void* to, std::size_t bytes) {
  using Source = Kokkos::View<const std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Target = Kokkos::View<std::byte*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Target(static_cast<std::byte*>(to), bytes),
                    Source(static_cast<const std::byte*>(from), bytes));
}

std::vector<std::byte> bytes_of(const ConstTensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes());
  copy_to_host(tensor.data(), bytes.data(), bytes.size());
  return bytes;
}

void set_values(const Tensor& tensor, const std::vector<float>& values) {
  dispatch(tensor.type(), [&]<class T>(TypeTag<T>) {
    std::vector<T> rounded;
    for (const float value : values) rounded.push_back(from_float<T>(value));
    copy_to_device(rounded.data(), tensor.data(), tensor.bytes());
  });
}

std::vector<float> values_of(const ConstTensor& tensor) {
  return dispatch(tensor.type(), [&]<class T>(TypeTag<T>) {
    std::vector<T> stored(static_cast<std::size_t>(tensor.size()));
    copy_to_host(tensor.data(), stored.data(), tensor.bytes());
    std::vector<float> values;
    for (const T value : stored) values.push_back(to_float(value));
    return values;
  });
}

std::vector<double> doubles_of(const Tensor& tensor) {
  const std::vector<float> values = values_of(tensor);
  return {values.begin(), values.end()};
}

}  // namespace mylos::test
