#include "mylos/kernels/launch/convert_stream.hpp"

namespace mylos {

bool convert_streamed(const Execution&, const Tensor&, const Tensor&, Overflow) {
  return false;
}

}  // namespace mylos
