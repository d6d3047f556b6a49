// Memory that stands for a device's: the host may not touch it. What copies it knows a second address of the
// same pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace device_use {

class DeviceMemory {
 public:
  static DeviceMemory& own();

  /// nullptr where there is no room.
  void* allocate(std::size_t bytes);
  bool release(void* address);

  /// Where the host reads and writes what lies at `address`, which may be the host's own.
  [[nodiscard]] void* for_host(const void* address);
  [[nodiscard]] bool holds(const void* address);
  /// Zeros, for which whole pages are given back instead of written: a device's gigabytes are cleared alone.
  void clear(void* address, std::size_t bytes);
  /// A fault of `user` in the ledger, unless `bytes` from there lie in one allocation and `address` is a
  /// multiple of `alignment`.
  void require(const std::string& user, const void* address, std::size_t bytes, std::size_t alignment);

  void pin(const void* address, std::size_t bytes);
  void unpin(const void* address);
  [[nodiscard]] bool is_pinned(const void* address);

  [[nodiscard]] std::size_t used_bytes();

 private:
  struct Block {
    std::size_t bytes = 0;
    std::size_t mapped = 0;
    std::byte* host = nullptr;
  };
  using Blocks = std::map<std::uintptr_t, Block>;
  [[nodiscard]] Blocks::iterator block_of(const void* address);

  std::recursive_mutex mutex_;
  Blocks blocks_;
  std::map<std::uintptr_t, std::size_t> pinned_;
};

}  // namespace device_use
