// cuDNN itself, looked for when it is first wanted: a program built with it starts on machines without.
#pragma once

#include <cstddef>
#include <string>

namespace mylos {

struct CudnnLibrary {
  void* handle = nullptr;   // dlopen's; nothing closes it
  std::size_t version = 0;  // as cuDNN counts: 91900 is 9.19.0
  std::string missing;      // in words for people, where it cannot be used
};

/// Looks where the loader looks: in LD_LIBRARY_PATH, the folders of libraries that the program was linked
/// with (the CUDA toolkit's among them), and the system's.
[[nodiscard]] CudnnLibrary open_cudnn();

/// "9.19.0".
[[nodiscard]] std::string cudnn_version_text(std::size_t version);

}  // namespace mylos
