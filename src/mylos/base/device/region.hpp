// Region: marks a section of the step for Kokkos Tools profilers during its lifetime.
#pragma once

namespace mylos {

class Region {
 public:
  explicit Region(const char* name);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  bool pushed_ = false;
};

}  // namespace mylos
