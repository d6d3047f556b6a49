// Which Mylos this is.
#pragma once

#include <string>

namespace mylos {

/// "0.1.0 (commit 1a2b3c4)"; without the commit where the source tree was no git checkout.
[[nodiscard]] std::string code_version();

}  // namespace mylos
