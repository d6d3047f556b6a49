#include "mylos/device/cuda/engines/cudnn_library.hpp"

#include <cudnn_version.h>
#include <dlfcn.h>
#include <fmt/format.h>

namespace mylos {
namespace {

/// The libraries that attention needs in addition to libcudnn.so.9. cuDNN loads them itself and aborts the
/// program if it cannot.
constexpr const char* parts[] = {"libcudnn_graph.so.9", "libcudnn_heuristic.so.9",
                                 "libcudnn_engines_precompiled.so.9",
                                 "libcudnn_engines_runtime_compiled.so.9"};

}  // namespace

std::string cudnn_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

CudnnLibrary open_cudnn() {
  CudnnLibrary library;
  void* const handle = dlopen("libcudnn.so.9", RTLD_NOW);
  if (handle == nullptr) {
    library.missing = "this machine has no libcudnn.so.9";
    return library;
  }
  for (const char* part : parts) {
    if (dlopen(part, RTLD_LAZY) == nullptr) {
      library.missing = fmt::format("this machine has libcudnn.so.9 without {}", part);
      return library;
    }
  }
  using Version = std::size_t (*)();
  const auto version = reinterpret_cast<Version>(dlsym(handle, "cudnnGetVersion"));
  library.version = version == nullptr ? 0 : version();
  // Later versions of the same major version are compatible.
  if (library.version < CUDNN_VERSION) {
    library.missing = fmt::format("this machine's is {}, older than {}, which the program was built with",
                                  cudnn_version_text(library.version), cudnn_version_text(CUDNN_VERSION));
    return library;
  }
  library.handle = handle;
  return library;
}

}  // namespace mylos
