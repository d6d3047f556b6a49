#include "mylos/base/device/region.hpp"

#include <Kokkos_Core.hpp>

namespace mylos {

Region::Region(const char* name) {
  if (Kokkos::Profiling::profileLibraryLoaded()) {
    Kokkos::Profiling::pushRegion(name);
    pushed_ = true;
  }
}

Region::~Region() {
  if (pushed_) Kokkos::Profiling::popRegion();
}

}  // namespace mylos
