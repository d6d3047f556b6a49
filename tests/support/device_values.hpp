// Between host numbers and tensors in device memory.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos::test {

/// The value nearest to `value` that `type` holds.
float rounded_to(DType type, float value);

/// Copies bytes from device memory.
void copy_to_host(const void* from, void* to, std::size_t bytes);

/// Copies bytes to device memory.
void copy_to_device(const void* from, void* to, std::size_t bytes);

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

std::vector<std::byte> bytes_of(const ConstTensor& tensor);

/// tensor = values, rounded to its type.
void set_values(const Tensor& tensor, const std::vector<float>& values);

std::vector<float> values_of(const ConstTensor& tensor);

std::vector<double> doubles_of(const Tensor& tensor);

}  // namespace mylos::test
