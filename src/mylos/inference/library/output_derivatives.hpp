// From derivatives with respect to what a user reads of outputs to those with respect to what the network's
// last layer computes.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/model/losses.hpp"

namespace mylos {

/// Writes `seed`, like `computed` [rows, numbers of the last layer], from `d_outputs` [rows, outputs], all of
/// floats. Of distributions the outputs are the means, of points with `channels` of them; of classes the
/// probabilities p of a softmax, d = p (d_p - sum of p d_p); of probabilities p of a sigmoid, d = p (1 - p)
/// d_p. `are_logits`: the outputs of the last two are what the last layer computes.
void seed_from_outputs(const Execution& exec, Prediction prediction, bool are_logits, std::int64_t channels,
                       const ConstTensor& computed, const ConstTensor& d_outputs, const Tensor& seed);

/// Writes rows [sample, output] for outputs [first, first + rows / samples) of each sample: `to` repeats the
/// sample's row of `samples`; `d_outputs` is 1 / scale of that output, else 0. `inverse`: 1 / scale of each
/// output; null: 1.
void repeat_for_outputs(const Execution& exec, const ConstTensor& samples, std::int64_t first,
                        const double* inverse, const Tensor& to, const Tensor& d_outputs);

}  // namespace mylos
