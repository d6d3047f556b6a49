// The instruction sets that vector code on hosts is compiled for, and the one that it runs by.
//
// One build has all of them for its architecture; the best one that the processor has is in use unless
// use_instructions() says otherwise. Results of one set are bitwise repeatable; those of two differ by
// rounding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// From the one that any processor has to the fastest, per architecture.
enum class Instructions {
  baseline,     ///< any x86-64, or where vector code is not compiled for the processor at all
  avx2,         ///< AVX2, FMA and F16C
  avx512,       ///< AVX-512 F, BW, CD, DQ and VL
  avx512_bf16,  ///< AVX-512 with products of bfloat16
  neon,         ///< any 64-bit Arm
  sve,          ///< Arm's vectors of up to 64 bytes
};

/// The name users type in decks: "avx512-bf16".
[[nodiscard]] std::string_view name_of(Instructions instructions);

/// What this build and this processor both have, the fastest last. At least one.
[[nodiscard]] std::vector<Instructions> available_instructions();

[[nodiscard]] bool is_available(Instructions instructions);

[[nodiscard]] Instructions best_instructions();

[[nodiscard]] Instructions instructions_in_use();

/// From now on vector code runs by these. Not while a kernel runs; engines made before keep their workspace's
/// layout and must be made anew. Throws Error (bad input), naming those there are.
void use_instructions(Instructions instructions);

/// The same by name. Throws Error (bad input) for a name that is none.
[[nodiscard]] Instructions instructions_named(std::string_view name);

}  // namespace mylos
