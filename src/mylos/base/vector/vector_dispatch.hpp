// The vector target in use: sets Highway's table, or does nothing in a build without vector code.
#pragma once

#include "mylos/base/instructions.hpp"

namespace mylos::vector_dispatch {

[[nodiscard]] bool has(Instructions instructions);
[[nodiscard]] Instructions in_use();
void use(Instructions instructions);

}  // namespace mylos::vector_dispatch
