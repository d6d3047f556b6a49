// How many cases a test goes through. In builds with sanitizers, which run ten times slower, a part of them:
// there they look for faults of memory, which the first ones show.
#pragma once

#include <cstddef>

namespace mylos::test {

constexpr bool few_cases = MYLOS_SANITIZED != 0;

/// Of random cases: all, or a tenth.
constexpr int cases(int all) {
  return few_cases ? (all + 9) / 10 : all;
}

/// Through a list of cases: one by one, or every seventh, so that no choice of two or three is always the
/// same.
constexpr std::size_t case_step = few_cases ? 7 : 1;

}  // namespace mylos::test
