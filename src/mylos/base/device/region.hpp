// Region: marks a section of the step for Kokkos Tools profilers during its lifetime.
#pragma once

#include <Kokkos_Core.hpp>

namespace mylos {

class Region {
 public:
  explicit Region(const char* name) {
    if (Kokkos::Profiling::profileLibraryLoaded()) {
      Kokkos::Profiling::pushRegion(name);
      pushed_ = true;
    }
  }
  ~Region() {
    if (pushed_) Kokkos::Profiling::popRegion();
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  bool pushed_ = false;
};

}  // namespace mylos
