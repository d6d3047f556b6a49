// two_copies: a program with its own Kokkos that calls Mylos in a shared library, which contains another copy
// of Kokkos and hides its symbols. This file is both: the library with IN_LIBRARY. Every constructor must be
// refused, and the program must end in order. Prints "ok".
#include <cstdio>
#include <functional>
#include <string_view>

#include "mylos/base/errors/machine.hpp"
#include "mylos/mylos.hpp"

extern "C" bool library_trains(bool starts_kokkos);
extern "C" void end_kokkos_of_library();

#ifdef IN_LIBRARY

/// With its own code the library is one program: Mylos accepts its Kokkos.
bool library_trains(bool starts_kokkos) {
  if (starts_kokkos) Kokkos::initialize();
  if (!Kokkos::is_initialized()) return false;
  mylos::GradientScaler scaler;
  return scaler.update().is_finite;
}

void end_kokkos_of_library() {
  Kokkos::finalize();
}

/// What the program calls, so that the linker takes it from the archive.
void use() {
  const mylos::Model model("model.h5");
  const mylos::Ensemble ensemble({"a.h5", "b.h5"});
  const mylos::OnlineTrainer trainer(mylos::Options(), MPI_COMM_WORLD);
  const mylos::GradientScaler scaler({}, MPI_COMM_WORLD);
}

#else

namespace {

bool refuses(const std::function<void()>& call, std::string_view part) {
  try {
    call();
  } catch (const mylos::Error& error) {
    if (error.id() == mylos::errors::kokkos_mismatch && error.message().find(part) != std::string_view::npos)
      return true;
    std::fprintf(stderr, "another error: %s\n", error.what());
    return false;
  }
  std::fprintf(stderr, "not refused\n");
  return false;
}

bool refuses_all(std::string_view part) {
  return refuses([] { const mylos::GradientScaler scaler; }, part) &&
         refuses([] { const mylos::GradientScaler scaler({}, MPI_COMM_WORLD); }, part) &&
         refuses([] { const mylos::Model model("model.h5"); }, part) &&
         refuses(
             [] {
               const mylos::Ensemble ensemble({"a.h5", "b.h5"});
             },
             part) &&
         refuses([] { const mylos::OnlineTrainer trainer(mylos::Options(), MPI_COMM_WORLD); }, part);
}

bool run() {
  const mylos::KokkosRuntime other{.version = 50100};
  if (!refuses([&] { const mylos::GradientScaler scaler({}, other); }, "compiled with Kokkos 5.1.0"))
    return false;
  {
    const Kokkos::ScopeGuard kokkos;
    if (!refuses_all("the program's is initialised, that of Mylos is not initialised")) return false;
    if (library_trains(false) || !library_trains(true)) return false;
    if (!refuses_all("the program's is initialised, that of Mylos is initialised")) return false;
  }
  if (!refuses_all("the program's is not initialised, that of Mylos is initialised")) return false;
  if (!library_trains(false)) return false;
  end_kokkos_of_library();
  return true;
}

}  // namespace

int main() {
  if (!run()) return 1;
  std::puts("ok");
  return 0;
}

#endif
