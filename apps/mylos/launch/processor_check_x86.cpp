// Ends the program with one line and code 2 if the processor lacks instructions of the build.
// Compiled for the oldest x86-64, under the same rule as processor_x86.cpp; buffers and system calls only.
#include <cpuid.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "launch/processor.hpp"

namespace mylos::app {
namespace {

/// The processor's name from CPUID.
struct ProcessorName {
  std::uint32_t registers[13] = {};  // the last one ends the text
};

/// Removes leading and trailing spaces.
const char* read_name(ProcessorName& name) {
  for (std::uint32_t part = 0; part < 3; ++part) {
    std::uint32_t* r = name.registers + 4 * part;
    if (__get_cpuid(0x80000002 + part, r, r + 1, r + 2, r + 3) == 0) break;
  }
  char* text = reinterpret_cast<char*>(name.registers);
  std::size_t length = std::strlen(text);
  while (length > 0 && text[length - 1] == ' ') text[--length] = '\0';
  return text + std::strspn(text, " ");
}

void check_processor(int, char**, char**) {
  const ProcessorWords processor = read_processor();
  const char* first = nullptr;
  const int missing = count_missing(processor, built_with, &first);
  if (missing == 0) return;

  ProcessorName name;
  char node[65] = "this node";
  gethostname(node, sizeof(node) - 1);
  char others[40] = "";
  if (missing > 1) std::snprintf(others, sizeof(others), " and %d more", missing - 1);
  const char* architecture = architecture_for(processor);
  char text[1024];
  const int length =
      std::snprintf(text, sizeof(text),
                    "mylos: the processor of %s (%s) has no %s%s, which this mylos uses: it was built for "
                    "%s. For older nodes: "
                    "scripts/setup --arch=%s, and build with -DMylos_HOST_ARCH=%s\n",
                    node, read_name(name), first, others, built_for, architecture, architecture);
  const auto written = write(STDERR_FILENO, text, length < 0 ? 0u : static_cast<std::size_t>(length));
  _exit(written < 0 ? 1 : 2);
}

// Run before the initialisers of shared libraries and of this program, which may use any instruction (the
// System V ABI, DT_PREINIT_ARRAY): a constructor with a priority would come after the libraries'.
[[gnu::section(".preinit_array"), gnu::used]] void (*const first_of_all)(int, char**,
                                                                         char**) = check_processor;

}  // namespace
}  // namespace mylos::app
