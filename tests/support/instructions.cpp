#include "support/instructions.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "mylos/base/instructions.hpp"

namespace mylos::test {

bool choose_instructions() {
  const char* name = std::getenv("MYLOS_TEST_INSTRUCTIONS");
  if (name == nullptr) return true;
  const Instructions instructions = instructions_named(name);
  const auto available = available_instructions();
  if (std::find(available.begin(), available.end(), instructions) == available.end()) {
    std::printf("Skipped: this processor has no %s.\n", name);
    return false;
  }
  if (std::getenv("MYLOS_TEST_BELOW_BEST") != nullptr && instructions == best_instructions()) {
    std::printf("Skipped: by %s, this processor's best, run the tests without the variable.\n", name);
    return false;
  }
  use_instructions(instructions);
  std::printf("By the instructions %s.\n", name);
  return true;
}

}  // namespace mylos::test
