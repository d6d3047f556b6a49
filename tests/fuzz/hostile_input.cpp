#include "hostile_input.hpp"

#include <sanitizer/allocator_interface.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

namespace mylos::fuzz {
namespace {

constexpr std::int64_t factor = 64;
constexpr std::int64_t constant_bytes = std::int64_t{16} << 20;

/// Hooks are plain functions: what they count lies here. `limit` is 0 outside of a reader.
struct Account {
  std::atomic<std::int64_t> limit{0};
  std::atomic<std::int64_t> held{0};
};
Account& account() {
  static Account all;
  return all;
}

void on_allocation(const volatile void*, std::size_t bytes) {
  const std::int64_t limit = account().limit;
  if (limit == 0) return;
  const std::int64_t held = account().held += static_cast<std::int64_t>(bytes);
  if (held <= limit) return;
  account().limit = 0;
  std::fprintf(stderr, "the input cost %lld bytes of memory, allowed are %lld; the last were %zu\n",
               static_cast<long long>(held), static_cast<long long>(limit), bytes);
  std::abort();
}

void on_release(const volatile void* memory) {
  if (memory == nullptr || account().limit == 0) return;
  account().held -=
      static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(memory)));
}

class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = std::filesystem::temp_directory_path() / ("mylos-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::string scratch_path(const std::string& name) {
  static const ScratchFolder folder;
  return (folder.path() / name).string();
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

AllocationLimit::AllocationLimit(std::size_t input_bytes) {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);
  if (installed == 0) std::abort();
  account().held = 0;
  account().limit = constant_bytes + factor * static_cast<std::int64_t>(input_bytes);
}

AllocationLimit::~AllocationLimit() {
  account().limit = 0;
}

}  // namespace mylos::fuzz
