#include "mylos/kernels/launch/noise.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

/// Not a generic lambda: nvcc does not accept a device lambda inside one.
template <class Value>
void fill(const Execution& execution, Value* values, std::int64_t count) {
  for_each_element(
      execution, "noise", count, KOKKOS_LAMBDA(const std::int64_t i) {
        const auto word = static_cast<std::uint32_t>(i) * 2654435761u;  // Knuth's multiplicative hash
        values[i] = from_float<Value>(static_cast<float>(word) * 0x1p-32f - 0.5f);
      });
}

}  // namespace

void fill_with_noise(const Execution& execution, const Tensor& tensor) {
  dispatch(tensor.type(),
           [&]<class Value>(TypeTag<Value>) { fill(execution, tensor.as<Value>(), tensor.size()); });
}

}  // namespace mylos
