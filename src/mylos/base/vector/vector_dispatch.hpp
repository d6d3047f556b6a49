// Which of the targets of the vector code runs: Highway's table, or a build without vector code.
#pragma once

#include "mylos/base/instructions.hpp"

namespace mylos::vector_dispatch {

[[nodiscard]] bool has(Instructions instructions);
[[nodiscard]] Instructions in_use();
void use(Instructions instructions);

}  // namespace mylos::vector_dispatch
