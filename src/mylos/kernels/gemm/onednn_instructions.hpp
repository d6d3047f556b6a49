// The instructions that oneDNN uses. A process sets its limit once, before oneDNN is used for the first time;
// ONEDNN_MAX_CPU_ISA in the environment may hold it to less.
#pragma once

#include <string>

#include "mylos/base/instructions.hpp"

namespace mylos::onednn {

/// No more than these: "avx512-bf16" leaves the matrix unit (AMX) out. Throws Error where oneDNN was used
/// before by more.
void hold_to(Instructions instructions);

/// oneDNN's own name of what it may use: "AVX512_CORE_AMX"; empty where it is not in this build. From here on
/// the limit stands; so it does after what follows.
[[nodiscard]] std::string limit();

/// By instructions of the processor.
[[nodiscard]] bool multiplies_bfloat16();
[[nodiscard]] bool uses_matrix_unit();

/// True where it may use less than these, which this processor has.
[[nodiscard]] bool is_held_below(Instructions instructions);

/// Whether it would use the matrix unit unless it is held to less; leaves the limit open.
[[nodiscard]] bool could_use_matrix_unit();

}  // namespace mylos::onednn
