// The leak check of builds with the address sanitizer.
#include "support/leak_check.hpp"

#include <sanitizer/lsan_interface.h>

namespace mylos::test {

void without_leak_check(const std::function<void()>& work) {
  __lsan_disable();
  work();
  __lsan_enable();
}

bool found_leaks() {
  return __lsan_do_recoverable_leak_check() != 0;
}

}  // namespace mylos::test
