// DeviceArray: elements in device memory, for members of classes whose headers do without Kokkos.
// device_array_views.hpp makes one, and a view of it for kernels.
#pragma once

#include <cstddef>
#include <memory>

namespace mylos {

/// Memory of a Kokkos view of one dimension. Copies share it.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  template <class View>
  explicit DeviceArray(const View& view) : data_(view.data(), [view](T*) {}), size_(view.size()) {}

  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::shared_ptr<T> data_;
  std::size_t size_ = 0;
};

}  // namespace mylos
