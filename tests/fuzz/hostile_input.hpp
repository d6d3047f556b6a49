// What every fuzz target does with its input: a file of the bytes, a reader that may refuse them but nothing
// else, and a limit on the memory that they may cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mylos/base/error.hpp"

namespace mylos::fuzz {

/// A path in this process' scratch folder, which is removed at exit.
[[nodiscard]] std::string scratch_path(const std::string& name);
void write_file(const std::string& path, std::string_view bytes);

/// While it lives, the process ends with a report as soon as what was allocated since then, less what was
/// freed, is more than 64 times the input and a constant: our buffers of a few MiB, and HDF5's caches.
class AllocationLimit {
 public:
  explicit AllocationLimit(std::size_t input_bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;
};

/// The reader takes the input, or throws an Error that blames it (bad_input). All else is a finding.
template <class Reader>
void take_or_refuse(std::size_t input_bytes, Reader&& reader) {
  const AllocationLimit limit(input_bytes);
  try {
    reader();
  } catch (const Error& error) {
    if (error.code() == ExitCode::bad_input) return;
    std::fprintf(stderr, "refused, but not as bad input: %s\n", error.what());
    std::abort();
  }
}

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace mylos::fuzz
