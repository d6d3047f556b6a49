// Replaces operator new by one that counts. A file of its own: seen together with its users, GCC takes the
// pairing of new with free for a mistake.
#include "support/allocation_counter.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> count = 0;
std::atomic<long> allocated = 0;
std::atomic<long> most = 0;

void* note_new(void* memory) {
  ++count;
  const long now = allocated += static_cast<long>(malloc_usable_size(memory));
  long before = most;
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return note_new(memory);
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return note_new(std::malloc(bytes > 0 ? bytes : 1));
}
void operator delete(void* memory) noexcept {
  allocated -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  allocated -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}

namespace mylos::testing_support {
long allocations() {
  return count;
}
long allocated_bytes() {
  return allocated;
}
long peak_bytes_from_now() {
  most = allocated.load();
  return most;
}
long peak_bytes() {
  return most;
}
}  // namespace mylos::testing_support
