#include "mylos/io/system/memory_shares.hpp"

#include <algorithm>

#include "mylos/base/memory_is_host.hpp"
#include "mylos/io/system/process_pages.hpp"
#include "mylos/io/system/system_memory.hpp"

namespace mylos {
std::size_t process_memory() {
  constexpr std::int64_t usual_pages = std::int64_t{26} << 20;  // 24 to 25 MiB were seen
  const std::int64_t pages = resident_file_pages();
  return static_cast<std::size_t>(resident_memory() - pages + std::max(pages, usual_pages));
}

PartMemory process_entries(const RunProcesses& processes) {
  return {{process_name, processes.process_bytes, false}, {library_name, library_reserve, false}};
}

std::size_t rank_budget(std::int64_t given, const RunProcesses& processes, int started) {
  if (given > 0) return static_cast<std::size_t>(given);
  double bytes = 0;
  if (const auto free = free_device_memory()) {
    bytes = static_cast<double>(*free);
  } else {
    const double running = static_cast<double>(started) * static_cast<double>(processes.process_bytes);
    bytes = (static_cast<double>(available_host_memory()) + running) / processes.ranks_on_node;
  }
  return static_cast<std::size_t>(share_of_memory * bytes);
}

std::size_t device_budget(std::int64_t given, std::int64_t device_bytes) {
  if (given > 0) return static_cast<std::size_t>(given);
  return static_cast<std::size_t>(share_of_memory * static_cast<double>(device_bytes));
}

std::size_t NodeShare::budget(std::int64_t given) const {
  return given > 0 ? std::min(static_cast<std::size_t>(given), budget_bytes) : budget_bytes;
}

std::size_t NodeShare::undivided(int ranks) const {
  return budget_bytes * static_cast<std::size_t>(ranks_on_node / ranks);
}

std::int64_t token_share(std::size_t budget, const RunProcesses& processes) {
  if (!memory_is_host) return available_host_memory() / processes.ranks_on_node / 2;
  return static_cast<std::int64_t>(budget / 8);
}

std::int64_t initial_host_memory() {
  static const std::int64_t bytes = available_host_memory();
  return bytes;
}

std::int64_t free_memory_of_rank(int ranks_on_node) {
  return free_device_memory().value_or(available_host_memory() / std::max(1, ranks_on_node));
}

}  // namespace mylos
