// Between host numbers and tensors in device memory.
#pragma once

#include <cstring>
#include <vector>

#include "mylos/base/device/arena.hpp"

namespace mylos::test {

/// The value nearest to `value` that `type` holds.
inline float rounded_to(DType type, float value) {
  return dispatch(type, [&]<class T>(TypeTag<T>) { return to_float(from_float<T>(value)); });
}

/// Copies bytes from device memory.
inline void copy_to_host(const void* from, void* to, std::size_t bytes) {
  using Source = Kokkos::View<const std::byte*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Target = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Target(static_cast<std::byte*>(to), bytes),
                    Source(static_cast<const std::byte*>(from), bytes));
}

/// Copies bytes to device memory.
inline void copy_to_device(const void* from, void* to, std::size_t bytes) {
  using Source = Kokkos::View<const std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Target = Kokkos::View<std::byte*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(Target(static_cast<std::byte*>(to), bytes),
                    Source(static_cast<const std::byte*>(from), bytes));
}

/// A view in device memory with these values.
template <class T>
Kokkos::View<T*, Device> on_device(const std::vector<T>& values) {
  const Kokkos::View<T*, Device> view("test values", values.size());
  copy_to_device(values.data(), view.data(), values.size() * sizeof(T));
  return view;
}

/// A view's elements. Waits for all kernels before.
template <class T>
std::vector<T> on_host(const Kokkos::View<T*, Device>& view) {
  std::vector<T> values(view.size());
  copy_to_host(view.data(), values.data(), values.size() * sizeof(T));
  return values;
}

/// One object in device memory, read and written from the host.
template <class T>
class DeviceValue {
 public:
  DeviceValue() : DeviceValue(T{}) {}
  explicit DeviceValue(const T& value) : arena_("test value", sizeof(T)) { set(value); }
  void set(const T& value) { copy_to_device(&value, data(), sizeof(T)); }
  [[nodiscard]] T get() const {
    T value;
    copy_to_host(data(), &value, sizeof(T));
    return value;
  }
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(arena_.data()); }

 private:
  Arena arena_;
};

inline std::vector<std::byte> bytes_of(const ConstTensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes());
  copy_to_host(tensor.data(), bytes.data(), bytes.size());
  return bytes;
}

/// tensor = values, rounded to its type.
inline void set_values(const Tensor& tensor, const std::vector<float>& values) {
  dispatch(tensor.type(), [&]<class T>(TypeTag<T>) {
    std::vector<T> rounded;
    for (const float value : values) rounded.push_back(from_float<T>(value));
    copy_to_device(rounded.data(), tensor.data(), tensor.bytes());
  });
}

inline std::vector<float> values_of(const ConstTensor& tensor) {
  return dispatch(tensor.type(), [&]<class T>(TypeTag<T>) {
    std::vector<T> stored(static_cast<std::size_t>(tensor.size()));
    copy_to_host(tensor.data(), stored.data(), tensor.bytes());
    std::vector<float> values;
    for (const T value : stored) values.push_back(to_float(value));
    return values;
  });
}

inline std::vector<double> doubles_of(const Tensor& tensor) {
  const std::vector<float> values = values_of(tensor);
  return {values.begin(), values.end()};
}

}  // namespace mylos::test
