// The instructions that a test program is told to run by, so that one processor proves the code of those
// below its own.
#pragma once

namespace mylos::test {

/// What a test program returns that has nothing to run: ctest counts it as skipped.
inline constexpr int skipped = 77;

/// Lets vector code run by the instructions that the environment variable MYLOS_TEST_INSTRUCTIONS names.
/// False, and says why, where there is nothing to run by them: the processor lacks them, or they are its
/// best, by which the tests run without the variable, and MYLOS_TEST_BELOW_BEST is set. Throws Error (bad
/// input) for a name that is none.
[[nodiscard]] bool choose_instructions();

}  // namespace mylos::test
