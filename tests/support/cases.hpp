// How many cases a test goes through. A part of them in builds with sanitizers, which look for faults of
// memory, and where a processor of another kind, or a device, is emulated: there everything is ten times
// slower or more.
#pragma once

#include <cstddef>

namespace mylos::test {

constexpr bool few_cases = MYLOS_FEW_CASES != 0;

/// Of random cases: all, or a tenth.
constexpr int cases(int all) {
  return few_cases ? (all + 9) / 10 : all;
}

/// Through a list of cases: one by one, or every seventh, so that no choice of two or three is always the
/// same.
constexpr std::size_t case_step = few_cases ? 7 : 1;

}  // namespace mylos::test
