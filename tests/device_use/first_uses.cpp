#include "first_uses.hpp"

#include <mutex>
#include <set>

#include "ledger.hpp"

namespace device_use {
namespace {

constexpr std::size_t bytes_of_one = std::size_t{8} << 20;

struct Uses {
  std::mutex mutex;
  std::set<std::string> seen;
  bool is_read = false;
};

Uses& uses() {
  static auto* const all = new Uses;
  return *all;
}

}  // namespace

void open_library() {
  const std::lock_guard lock(uses().mutex);
  uses().is_read = false;
}

void first_use(const std::string& what) {
  const std::lock_guard lock(uses().mutex);
  if (!uses().seen.insert(what).second || !uses().is_read) return;
  Ledger::own().fault(what + " takes its first memory after the device's free memory was read");
}

void read_free_memory() {
  const std::lock_guard lock(uses().mutex);
  uses().is_read = true;
}

std::size_t first_use_bytes() {
  const std::lock_guard lock(uses().mutex);
  return uses().seen.size() * bytes_of_one;
}

}  // namespace device_use
