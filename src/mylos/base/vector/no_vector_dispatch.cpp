// Replaces vector_dispatch.cpp in builds whose kernels run on a device: they contain no vector code for
// hosts.
#include "mylos/base/vector/vector_dispatch.hpp"

namespace mylos::vector_dispatch {

bool has(Instructions instructions) {
  return instructions == Instructions::baseline;
}

Instructions in_use() {
  return Instructions::baseline;
}

void use(Instructions) {}

}  // namespace mylos::vector_dispatch
