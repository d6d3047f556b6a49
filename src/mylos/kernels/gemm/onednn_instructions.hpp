// The instruction set that oneDNN uses. A process sets the limit once, before it first uses oneDNN.
// ONEDNN_MAX_CPU_ISA in the environment may lower it.
#pragma once

#include <string>

#include "mylos/base/instructions.hpp"

namespace mylos::onednn {

/// Limits oneDNN to these instructions: "avx512-bf16" excludes the matrix unit (AMX). Throws Error if oneDNN
/// was already used with more.
void limit_to(Instructions instructions);

/// Returns oneDNN's name of its limit: "AVX512_CORE_AMX"; empty if the build lacks oneDNN. This call, and the
/// calls below except could_use_matrix_unit(), fix the limit.
[[nodiscard]] std::string limit();

/// Returns true if oneDNN multiplies bfloat16 by processor instructions.
[[nodiscard]] bool multiplies_bfloat16();
[[nodiscard]] bool uses_matrix_unit();

/// Returns true if oneDNN is limited to less than `instructions`, which this processor supports.
[[nodiscard]] bool is_limited_below(Instructions instructions);

/// Returns true if oneDNN would use the matrix unit unless it is limited. Does not fix the limit.
[[nodiscard]] bool could_use_matrix_unit();

}  // namespace mylos::onednn
