// How often this program called operator new, in any thread.
#pragma once

namespace mylos::testing_support {
[[nodiscard]] long allocations();
}
