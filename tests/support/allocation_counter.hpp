// How often this program called operator new, in any thread.
#pragma once

namespace mylos::testing_support {
[[nodiscard]] long allocations();

/// Bytes that operator new has given and that are not freed.
[[nodiscard]] long held_bytes();
/// The most of held_bytes() since peak_bytes_from_now(), which returns what is held then.
[[nodiscard]] long peak_bytes();
long peak_bytes_from_now();
}  // namespace mylos::testing_support
