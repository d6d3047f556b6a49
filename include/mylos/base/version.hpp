// The version of this build.
#pragma once

#include <string>
#include <string_view>

namespace mylos {

/// Returns "0.1.0 (commit 1a2b3c4)", without the commit if the source tree was not a git checkout.
[[nodiscard]] std::string code_version();

/// Returns the instruction set that the compiler was allowed to use: "x86-64-v4". It applies to the loops
/// that Kokkos launches; vector code selects its instructions at run time. If a process has several copies of
/// the library, this is the one that was loaded.
[[nodiscard]] std::string_view compiled_for();

}  // namespace mylos
