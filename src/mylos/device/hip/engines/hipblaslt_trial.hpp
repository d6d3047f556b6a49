// Whether an algorithm of hipBLASLt rounds a product to 16 bits before it adds a bias or the old C. The
// library has no option that forbids it, so each algorithm is tried once where that would change results.
#pragma once

#include "mylos/base/execution.hpp"
#include "mylos/device/hip/engines/hipblaslt_descriptors.hpp"

namespace mylos::hipblaslt {

constexpr std::int64_t max_trial_side = 128;
constexpr std::int64_t max_trial_k = 16384;

/// The bytes of a trial's operands, for any problem: A, B, C and a bias of 16-bit numbers.
constexpr std::size_t trial_bytes =
    aligned_bytes(static_cast<std::size_t>(2 * max_trial_side * (2 * max_trial_k + max_trial_side + 1)));

/// Returns the problem that a trial computes: with the same k, and so the same division of its sum, where
/// that is at most max_trial_k, but few rows and columns.
[[nodiscard]] GemmProblem trial_problem(const GemmProblem& problem);

/// Runs the algorithm on operands whose product is 1 + 2^-12, and adds -1 as bias or as the old C. Both
/// 16-bit types round that product to 1. Returns true if the result is 2^-12; false if it is not, or if the
/// algorithm does not take the trial's problem. `adds_c`: adds the old C instead of a bias.
/// `workspace`: library_workspace_bytes, then trial_bytes. Waits for the device.
[[nodiscard]] bool adds_before_rounding(hipblasLtHandle_t handle, const Execution& execution,
                                        const GemmProblem& problem, bool adds_c,
                                        const hipblasLtMatmulAlgo_t& algorithm, void* workspace);

}  // namespace mylos::hipblaslt
