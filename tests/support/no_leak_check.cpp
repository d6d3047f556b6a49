// Builds without sanitizers look for no leaks.
#include "support/leak_check.hpp"

namespace mylos::test {

void without_leak_check(const std::function<void()>& work) {
  work();
}

bool found_leaks() {
  return false;
}

}  // namespace mylos::test
