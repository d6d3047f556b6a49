// Counts calls of operator new in this program.
#pragma once

namespace mylos::test {
[[nodiscard]] long allocations();
}
