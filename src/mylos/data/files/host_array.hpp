// HostArray: host memory that Kokkos' tools see and that is not initialised with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mylos {

enum class HostMemory : std::uint8_t {
  pageable,
  page_locked  // if there is a device, so that copies to it need no staging buffer
};

/// Returns memory of `bytes` bytes, which `label` names in Kokkos' tools.
[[nodiscard]] std::shared_ptr<std::byte> uninitialised_memory(const std::string& label, std::int64_t bytes,
                                                              HostMemory memory);

/// Elements in host memory. Copies share them.
template <class T>
class HostArray {
 public:
  HostArray() = default;
  HostArray(const std::string& label, std::int64_t size, HostMemory memory = HostMemory::pageable)
      : bytes_(uninitialised_memory(label, size * static_cast<std::int64_t>(sizeof(T)), memory)) {}

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(bytes_.get()); }
  [[nodiscard]] T& operator[](std::size_t index) const { return data()[index]; }

 private:
  std::shared_ptr<std::byte> bytes_;
};

using HostBytes = HostArray<std::byte>;

}  // namespace mylos
