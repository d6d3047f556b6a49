// Loads cuDNN at first use, so that a program built with it starts on machines without it.
#pragma once

#include <cstddef>
#include <string>

namespace mylos {

struct CudnnLibrary {
  void* handle = nullptr;   // of dlopen; never closed
  std::size_t version = 0;  // in cuDNN's encoding: 91900 is 9.19.0
  std::string missing;      // for users: why cuDNN is not available
};

/// Loads cuDNN from where the loader searches: LD_LIBRARY_PATH, the library folders that the program was
/// linked with (including the CUDA toolkit's), and the system's.
[[nodiscard]] CudnnLibrary open_cudnn();

/// Formats 91900 as "9.19.0".
[[nodiscard]] std::string cudnn_version_text(std::size_t version);

}  // namespace mylos
