// The floor without oneDNN: no GEMMs in layouts other than the engines' own.
#include "library_layouts.hpp"

namespace mylos {

std::vector<GemmCandidate> gemms_in_library_layouts(const GemmProblem&, void*, void*) {
  return {};
}

}  // namespace mylos
