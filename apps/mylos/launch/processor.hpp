// Checks whether this x86 processor has the instructions that the compiler may use.
//
// A program built for one node and started on an older one would end with SIGILL at the first missing
// instruction. The check therefore runs before everything else, including the static initialisers of the
// program and of shared libraries (processor_check_x86.cpp).
#pragma once

#include <cstdint>

namespace mylos::app {

/// The registers of CPUID that list instruction sets, and XCR0: the registers that the operating system
/// saves.
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

/// Reads those of this processor.
[[nodiscard]] ProcessorWords read_processor();

/// True if it has the instruction set of this name ("AVX-512F"); false for an unknown name.
[[nodiscard]] bool has_feature(const ProcessorWords& processor, const char* name);

/// The number of missing instruction sets among the names, a list that ends with nullptr; sets `first` to the
/// first.
[[nodiscard]] int count_missing(const ProcessorWords& processor, const char* const* names,
                                const char** first);

/// The best of Kokkos' architectures for it, for scripts/setup --arch: SKX, HSW, SNB or NONE.
[[nodiscard]] const char* architecture_for(const ProcessorWords& processor);

/// The instruction sets that the compiler may use in the rest of the program, oldest first; then nullptr.
extern const char* const built_with[];
/// The processor or architecture of the build.
extern const char* const built_for;

}  // namespace mylos::app
