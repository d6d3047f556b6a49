// The names by which profiles list kernels.
#pragma once

#include <cstddef>
#include <string>

namespace mylos {

/// A kernel's name in profiles, at most 15 characters: Kokkos takes a std::string, and longer ones allocate.
class KernelName {
 public:
  template <std::size_t N>
  constexpr KernelName(const char (&text)[N]) : text_(text) {  // NOLINT: names are written as literals
    static_assert(N <= 16, "a kernel's name has at most 15 characters");
  }
  [[nodiscard]] std::string string() const { return text_; }

 private:
  const char* text_;
};

}  // namespace mylos
