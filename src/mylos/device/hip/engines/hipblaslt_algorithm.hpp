// The names of hipBLASLt's algorithms, by which plans and checkpoints store a choice.
#pragma once

#include <hipblaslt/hipblaslt.h>

#include <string>

namespace mylos {

/// Returns "hipblaslt/100202/1234": the library's version, because another one may number its algorithms
/// differently, and the algorithm's index in it. Throws Error (failed).
[[nodiscard]] std::string name_of_algorithm(hipblasLtHandle_t handle, const hipblasLtMatmulAlgo_t& algorithm);

}  // namespace mylos
