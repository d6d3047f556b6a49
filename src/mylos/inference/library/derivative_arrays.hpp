// The arrays of vjp(), jvp() and jacobian() of a Model and of an Ensemble.
#pragma once

#include <string>

#include "mylos/inference/arrays/array_samples.hpp"
#include "mylos/inference/library/output_derivatives.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct DerivativeArrays {
  ArraySamples x;
  ArraySamples from;  // what derivatives are multiplied by
  ArraySamples to;

  [[nodiscard]] SampleSpan span() const { return {.first = 0, .count = x.count, .to = 0}; }
};

/// What the model reads and writes, as formats of x and y. Throw Error (bad_input) as Model's functions say.
[[nodiscard]] DerivativeArrays vjp_arrays(const SampleFormat& inputs, const SampleFormat& outputs,
                                          const ConstArray& x, const ConstArray& dy, const Array& dx);
[[nodiscard]] DerivativeArrays jvp_arrays(const SampleFormat& inputs, const SampleFormat& outputs,
                                          const ConstArray& x, const ConstArray& dx, const Array& dy);
[[nodiscard]] DerivativeArrays jacobian_arrays(const SampleFormat& inputs, const SampleFormat& outputs,
                                               const ConstArray& x, const Array& j);

/// The largest Jacobian of a sample, in numbers.
inline constexpr std::int64_t max_jacobian_numbers = std::int64_t{1} << 22;
/// Returns whether a sample's Jacobian is small enough to be computed.
[[nodiscard]] bool has_jacobian(const Chain& chain);
/// Throws Error (bad_call) otherwise. `call`: "Model::jacobian". `path`: of the model.
void require_jacobian(const Chain& chain, const char* call, const std::string& path);

}  // namespace mylos
