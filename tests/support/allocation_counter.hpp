// How often this program called operator new, in any thread.
#pragma once

namespace mylos::testing_support {
[[nodiscard]] long allocations();

/// Bytes that operator new has given and that are not freed.
[[nodiscard]] long allocated_bytes();
/// The maximum of allocated_bytes() since peak_bytes_from_now(), which returns what is allocated then.
[[nodiscard]] long peak_bytes();
long peak_bytes_from_now();
}  // namespace mylos::testing_support
