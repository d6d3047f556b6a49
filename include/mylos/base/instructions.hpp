// The instruction sets that the host's vector code is compiled for, and the one in use.
//
// A build contains all sets of its architecture; one for its own machine may contain the best two alone
// (CMake's Mylos_VECTOR_SETS). The best set that the processor supports is used, unless use_instructions()
// selects another. Results are bitwise repeatable with one set; results of two sets differ
// by rounding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Instruction sets. Per architecture they are ordered from the one that every processor has to the fastest.
enum class Instructions {
  baseline,     ///< any x86-64, or a processor for which no vector code is compiled
  avx2,         ///< AVX2, FMA and F16C
  avx512,       ///< AVX-512 F, BW, CD, DQ and VL
  avx512_bf16,  ///< AVX-512 with bfloat16 dot products
  neon,         ///< any 64-bit Arm
  sve,          ///< Arm's scalable vectors, up to 64 bytes
};

/// Returns the name that users write in decks: "avx512-bf16".
[[nodiscard]] std::string_view name_of(Instructions instructions);

/// Returns the sets that both this build and this processor support, the fastest last. At least one.
[[nodiscard]] std::vector<Instructions> available_instructions();

/// Returns whether both this build and this processor support the set.
[[nodiscard]] bool is_available(Instructions instructions);

/// Returns the fastest available set.
[[nodiscard]] Instructions best_instructions();

/// Returns the set that vector code uses now.
[[nodiscard]] Instructions instructions_in_use();

/// Selects the instruction set of all vector code. Must not be called while a kernel runs. Existing GEMM
/// engines keep the workspace layout of the previous set and must be recreated. Throws Error (bad input) that
/// lists the available sets.
void use_instructions(Instructions instructions);

/// Returns the set of this name. Throws Error (bad input) for an unknown name.
[[nodiscard]] Instructions instructions_named(std::string_view name);

}  // namespace mylos
