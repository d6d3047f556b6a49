// GEMMs by the fastest of one library's algorithms, according to measurements.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// Returns an engine whose alternatives are `engines`. Each of them computes every GEMM with another
/// algorithm of the library, which it names by engine_of(). The first uses the algorithm that the library
/// recommends; it also computes batches, and its workspace suffices for all.
[[nodiscard]] std::unique_ptr<GemmEngine> make_ranked_gemm(std::string name,
                                                           std::vector<std::unique_ptr<GemmEngine>> engines);

}  // namespace mylos
