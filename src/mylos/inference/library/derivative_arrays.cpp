#include "mylos/inference/library/derivative_arrays.hpp"

#include <string>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"

namespace mylos {
namespace {

SampleFormat named(SampleFormat format, const char* name) {
  format.name = name;
  return format;
}

/// Orders the samples of all in the same way.
DerivativeArrays matched(ArraySamples x, ArraySamples from, ArraySamples to) {
  match_samples(x, from);
  match_samples(x, to);
  require_apart(from, to);
  return {std::move(x), std::move(from), std::move(to)};
}

}  // namespace

DerivativeArrays vjp_arrays(const SampleFormat& inputs, const SampleFormat& outputs, const ConstArray& x,
                            const ConstArray& dy, const Array& dx) {
  return matched(samples_of(x, inputs), samples_of(dy, named(outputs, "dy")),
                 samples_of(dx, named(inputs, "dx")));
}

DerivativeArrays jvp_arrays(const SampleFormat& inputs, const SampleFormat& outputs, const ConstArray& x,
                            const ConstArray& dx, const Array& dy) {
  return matched(samples_of(x, inputs), samples_of(dx, named(inputs, "dx")),
                 samples_of(dy, named(outputs, "dy")));
}

DerivativeArrays jacobian_arrays(const SampleFormat& inputs, const SampleFormat& outputs, const ConstArray& x,
                                 const Array& j) {
  const std::vector<std::int64_t> shape{outputs.size, inputs.size};
  const std::vector<std::string> no_names;
  DerivativeArrays arrays{samples_of(x, inputs), {}, {}};
  arrays.to = samples_of(j, {"j", "derivatives", shape, no_names, outputs.size * inputs.size});
  match_samples(arrays.x, arrays.to);
  return arrays;
}

bool has_jacobian(const Chain& chain) {
  return chain.inputs() <= max_jacobian_numbers / chain.outputs();
}

void require_jacobian(const Chain& chain, const char* call, const std::string& path) {
  if (has_jacobian(chain)) return;
  fail_input(errors::bad_call,
             "{}: {} has {} outputs and {} inputs, whose Jacobian is above {} numbers; use vjp()", call, path,
             chain.outputs(), chain.inputs(), max_jacobian_numbers);
}

}  // namespace mylos
