#include "device_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "ledger.hpp"

namespace device_use {
namespace {

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// The host touched what it may not, or any other bad address: the ledger says which.
void at_bad_address(int, siginfo_t* info, void*) {
  Ledger& ledger = Ledger::own();
  if (DeviceMemory::own().holds(info->si_addr)) {
    ledger.fault("the host reads or writes device memory, in " + ledger.kernel_name("no kernel"));
    std::fputs("device use: the host reads or writes device memory\n", stderr);
  } else {
    ledger.fault("bad address");
  }
  ledger.write();
  std::_Exit(70);
}

__attribute__((constructor)) void watch() {
  struct sigaction action {};
  action.sa_sigaction = at_bad_address;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

__attribute__((destructor)) void write_down() {
  Ledger::own().write();
}

}  // namespace

DeviceMemory& DeviceMemory::own() {
  static auto* const memory = new DeviceMemory;
  return *memory;
}

void* DeviceMemory::allocate(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t mapped = (bytes + page - 1) / page * page;
  if (mapped == 0) return nullptr;
  const int file = memfd_create("device memory", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* device = MAP_FAILED;
  void* host = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(mapped)) == 0) {
    device = mmap(nullptr, mapped, PROT_NONE, MAP_SHARED, file, 0);
    host = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  close(file);
  if (device == MAP_FAILED || host == MAP_FAILED) return nullptr;
  const std::lock_guard lock(mutex_);
  blocks_[number_of(device)] = {bytes, mapped, static_cast<std::byte*>(host)};
  return device;
}

bool DeviceMemory::release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(number_of(address));
  if (found == blocks_.end()) return false;
  munmap(address, found->second.mapped);
  munmap(found->second.host, found->second.mapped);
  blocks_.erase(found);
  return true;
}

DeviceMemory::Blocks::iterator DeviceMemory::block_of(const void* address) {
  auto found = blocks_.upper_bound(number_of(address));
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  return number_of(address) < found->first + found->second.mapped ? found : blocks_.end();
}

void* DeviceMemory::for_host(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = block_of(address);
  if (found == blocks_.end()) return const_cast<void*>(address);
  return found->second.host + (number_of(address) - found->first);
}

void DeviceMemory::clear(void* address, std::size_t bytes) {
  constexpr std::uintptr_t page = 4096;
  auto* const first = static_cast<std::byte*>(for_host(address));
  const std::uintptr_t begin = number_of(first);
  const std::uintptr_t whole = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + bytes) / page * page;
  if (end <= whole || madvise(first + (whole - begin), end - whole, MADV_REMOVE) != 0) {
    std::memset(first, 0, bytes);
    return;
  }
  std::memset(first, 0, whole - begin);
  std::memset(first + (end - begin), 0, begin + bytes - end);
}

bool DeviceMemory::holds(const void* address) {
  const std::lock_guard lock(mutex_);
  return block_of(address) != blocks_.end();
}

void DeviceMemory::require(const std::string& user, const void* address, std::size_t bytes,
                           std::size_t alignment) {
  const std::lock_guard lock(mutex_);
  const auto found = block_of(address);
  if (found == blocks_.end()) {
    Ledger::own().fault(user + " does not lie in device memory");
  } else if (number_of(address) - found->first + bytes > found->second.bytes) {
    Ledger::own().fault(user + " goes beyond its allocation");
  } else if (number_of(address) % alignment != 0) {
    Ledger::own().fault(user + " is not aligned to " + std::to_string(alignment) + " bytes");
  }
}

void DeviceMemory::pin(const void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  pinned_[number_of(address)] = bytes;
}

void DeviceMemory::unpin(const void* address) {
  const std::lock_guard lock(mutex_);
  pinned_.erase(number_of(address));
}

bool DeviceMemory::is_pinned(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto after = pinned_.upper_bound(number_of(address));
  if (after == pinned_.begin()) return false;
  const auto found = std::prev(after);
  return number_of(address) < found->first + found->second;
}

std::size_t DeviceMemory::used_bytes() {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [address, block] : blocks_) sum += block.bytes;
  return sum;
}

}  // namespace device_use
