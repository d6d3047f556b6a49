// The names of cuBLASLt's algorithms, by which plans and checkpoints store a choice.
#pragma once

#include <cublasLt.h>

#include <string>

namespace mylos {

/// Returns "cublaslt/130002/66.24.1.0.0.0.36.0.2": the library's version, because another one may number its
/// algorithms differently, and the configuration in the order of cublasLtMatmulAlgoConfigAttributes_t. Throws
/// Error (failed).
[[nodiscard]] std::string name_of_algorithm(const cublasLtMatmulAlgo_t& algorithm);

}  // namespace mylos
