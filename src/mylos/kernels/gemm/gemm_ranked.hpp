// Products by the fastest of one library's algorithms, as was measured.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// An engine whose alternatives are `engines`, of which each computes every product by another algorithm of
/// the library and says by engine_of() which: the first by the one that the library advises. That one
/// computes batches, and its workspace is enough for all.
[[nodiscard]] std::unique_ptr<GemmEngine> make_ranked_gemm(std::string_view name,
                                                           std::vector<std::unique_ptr<GemmEngine>> engines);

}  // namespace mylos
