// The Kokkos allocations that are made and freed while an object lives.
#pragma once

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "support/allocation_counter.hpp"

namespace mylos::testing_support {

/// What Kokkos allocates for itself, at the first launch that wants it, is no array of ours. On hosts it
/// frees its scratch memory without a name.
inline bool is_of_kokkos(const std::string_view label) {
  return label.starts_with("Kokkos::") || label == "[unlabeled]";
}

/// Bytes of the allocations made and not freed in its life, by label.
class AllocationsByLabel {
 public:
  AllocationsByLabel() {
    live.clear();
    most = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](const Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
          if (is_of_kokkos(label)) return;
          live[label] += bytes;
          most = std::max(most, total());
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](const Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
          if (!is_of_kokkos(label)) live[label] -= bytes;
        });
  }
  ~AllocationsByLabel() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
  AllocationsByLabel(const AllocationsByLabel&) = delete;
  AllocationsByLabel& operator=(const AllocationsByLabel&) = delete;

  [[nodiscard]] static std::size_t total() {
    std::size_t sum = 0;
    for (const auto& [label, bytes] : live) sum += bytes;
    return sum;
  }
  /// The most of total() so far.
  [[nodiscard]] static std::size_t peak() { return most; }

  // Callbacks of Kokkos Tools are plain functions.
  inline static std::map<std::string, std::size_t> live;  // NOLINT
  inline static std::size_t most = 0;                     // NOLINT
};

/// Calls work() once, which may allocate what later calls reuse, and expects that further calls allocate
/// nothing.
template <class Work>
void expect_no_allocations(const Work& work) {
  work();
  const long before = allocations();
  for (int i = 0; i < 5; ++i) work();
  EXPECT_EQ(allocations(), before) << "calls of operator new";
  const AllocationsByLabel of_kokkos;
  work();
  EXPECT_EQ(AllocationsByLabel::peak(), 0u);
}

}  // namespace mylos::testing_support
