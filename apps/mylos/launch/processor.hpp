// Whether this processor has the instructions that the compiler was allowed to use, on x86.
//
// A program built for one node and started on an older one would die of SIGILL wherever it first meets an
// instruction that is not there. So the question is asked before anything else runs, static initialisers and
// those of shared libraries included (processor_check_x86.cpp).
#pragma once

#include <cstdint>

namespace mylos::app {

/// The registers of CPUID that name instruction sets, and XCR0: what the operating system saves of them.
struct ProcessorWords {
  enum Word : std::uint8_t {
    leaf1_ecx,
    leaf7_ebx,
    leaf7_ecx,
    leaf7_edx,
    leaf7_1_eax,
    extended_ecx,
    xcr0,
    count
  };
  std::uint32_t word[count] = {};
};

/// This processor's.
[[nodiscard]] ProcessorWords read_processor();

/// Whether it has the instruction set of this name ("AVX-512F"). No processor has one that we do not know.
[[nodiscard]] bool has_feature(const ProcessorWords& processor, const char* name);

/// How many of the names (the last one is followed by nullptr) it lacks; `first` becomes the first of them.
[[nodiscard]] int count_missing(const ProcessorWords& processor, const char* const* names,
                                const char** first);

/// The best of Kokkos' architectures that runs on it, for scripts/setup --arch: SKX, HSW, SNB or NONE.
[[nodiscard]] const char* architecture_for(const ProcessorWords& processor);

/// What the compiler was allowed to use in the rest of the program, in the order of their age; then nullptr.
extern const char* const built_with[];
/// The processor or architecture that was meant.
extern const char* const built_for;

}  // namespace mylos::app
