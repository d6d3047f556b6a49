// The layers of a chain as a table, for `mylos plan`: what each gives, in which type, and what it costs.
#pragma once

#include <string>

#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// A line for each block and the head: name, kind, output shape of a sample, type, parameters, bytes of the
/// output for a micro-batch of `samples`, FLOPs of a sample forward and backward.
[[nodiscard]] std::string network_table(const Chain& chain, const GemmEngine& gemm, std::int64_t samples);

}  // namespace mylos
