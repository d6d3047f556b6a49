// Which Mylos this is.
#pragma once

#include <string>
#include <string_view>

namespace mylos {

/// "0.1.0 (commit 1a2b3c4)"; without the commit where the source tree was no git checkout.
[[nodiscard]] std::string code_version();

/// What the compiler was allowed to use where no vector code of its own chooses at run time, that is in the
/// loops that Kokkos launches: "x86-64-v4". Of several copies of a library it is that of the one loaded.
[[nodiscard]] std::string_view compiled_for();

}  // namespace mylos
