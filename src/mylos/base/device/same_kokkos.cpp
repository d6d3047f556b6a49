#include "mylos/base/device/same_kokkos.hpp"

#include <fmt/format.h>

#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

const char* state_of(const KokkosRuntime& runtime) {
  return runtime.is_running ? "is initialised" : "is not initialised";
}

}  // namespace

void require_same_kokkos(const char* call, const KokkosRuntime& program) {
  const KokkosRuntime own = kokkos_of_caller();
  if (program.version != own.version)
    fail_run(errors::kokkos_mismatch,
             "{}: the program was compiled with Kokkos {}, but Mylos with {}. Compile both with the same "
             "one: link "
             "Mylos::mylos and the target Kokkos::kokkos that it uses",
             call, version_text(program.version), version_text(own.version));
  if (program.is_running == own.is_running && program.instance == own.instance) return;
  fail_run(
      errors::kokkos_mismatch,
      "{}: the process has two copies of Kokkos: the program's {}, that of Mylos {}. Link one: a shared "
      "Kokkos (BUILD_SHARED_LIBS=ON) for all libraries of the program, or Kokkos and Mylos into the program "
      "alone; or call Mylos by its C interface, whose Kokkos is separate",
      call, state_of(program), state_of(own));
}

}  // namespace mylos
