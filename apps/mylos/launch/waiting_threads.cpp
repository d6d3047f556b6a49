#include "launch/waiting_threads.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace mylos::app {
namespace {

// For GCC's runtime, in iterations of its waiting loop. Its default of 300,000 (5 to 13 ms) occupies cores
// that other programs, and the threads that it waits for, need.
constexpr const char* gcc_spin_count = "1000";
// For LLVM's and Intel's runtime, in milliseconds; their default is 200.
constexpr const char* llvm_spin_ms = "1";

bool environment_says_it() {
  constexpr std::array names{"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"};
  return std::any_of(names.begin(), names.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

bool is_loaded(const char* function) {
  return dlsym(RTLD_DEFAULT, function) != nullptr;
}

}  // namespace

void choose_short_spin(char** arguments) {
  if (environment_says_it()) return;
  // LLVM's runtime also has GCC's functions. It reads its environment at first use.
  if (is_loaded("__kmpc_fork_call")) {
    setenv("KMP_BLOCKTIME", llvm_spin_ms, 0);
    return;
  }
  // Without an address of the loader the program is the loader itself (ld.so mylos).
  if (!is_loaded("GOMP_parallel") || getauxval(AT_BASE) == 0) return;
  std::error_code failure;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure || setenv("GOMP_SPINCOUNT", gcc_spin_count, 0) != 0) return;
  execv(program.c_str(), arguments);
}

}  // namespace mylos::app
