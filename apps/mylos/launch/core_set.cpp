// A separate file without Kokkos, because nvcc 13 fails on cpu_set_t in containers.
#include "launch/core_set.hpp"

#include <sched.h>

#include <fstream>
#include <thread>

namespace mylos::app {
namespace {

CoreSet from_system(const cpu_set_t& set) {
  CoreSet cores;
  for (std::size_t core = 0; core < cores.size(); ++core) cores[core] = CPU_ISSET(core, &set) != 0;
  return cores;
}

/// Parses a line such as "0,64" or "0-1", Linux' list of a core's hardware threads.
CoreSet listed(std::istream& line) {
  CoreSet cores;
  std::size_t first = 0;
  while (line >> first) {
    std::size_t last = first;
    if (line.peek() == '-') line.ignore() >> last;
    for (std::size_t core = first; core <= last && core < cores.size(); ++core) cores.set(core);
    line.ignore();  // a comma
  }
  return cores;
}

}  // namespace

CoreSet bound_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return CoreSet(1);
  return from_system(set);
}

CoreSet usable_cores() {
  CoreSet usable;
  // A thread that requests every core gets the cores of its control group (cpuset). The thread then ends; the
  // other threads of the process keep their binding.
  std::thread([&usable] {
    cpu_set_t every;
    CPU_ZERO(&every);
    for (std::size_t core = 0; core < usable.size(); ++core) CPU_SET(core, &every);
    static_cast<void>(sched_setaffinity(0, sizeof(every), &every));  // refused: what it is bound to
    usable = bound_cores();
  }).join();
  return usable;
}

CoreSet with_siblings(const CoreSet& cores, const std::string& folder) {
  CoreSet all = cores;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    if (!cores[core]) continue;
    std::ifstream line(folder + "/cpu" + std::to_string(core) + "/topology/thread_siblings_list");
    all |= listed(line);
  }
  return all;
}

std::string list_of(const CoreSet& cores) {
  std::string text;
  for (std::size_t first = 0; first < cores.size(); ++first) {
    if (!cores[first]) continue;
    std::size_t last = first;
    while (last + 1 < cores.size() && cores[last + 1]) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text.append("-").append(std::to_string(last));
    first = last;
  }
  return text.empty() ? "none" : text;
}

}  // namespace mylos::app
