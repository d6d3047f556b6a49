// A program that this processor cannot run, and that would say so if it were started all the same.
#include <cstdio>

#include "../../apps/mylos/launch/processor.hpp"

namespace mylos::app {

const char* const built_for = "a processor of tomorrow";
const char* const built_with[] = {"SSE3", "AVX-2048", "AVX-4096", nullptr};

}  // namespace mylos::app

namespace {

const int initialised = std::puts("a static initialiser ran");

}  // namespace

int main() {
  std::puts("main ran");
  return initialised < 0 ? 1 : 0;
}
