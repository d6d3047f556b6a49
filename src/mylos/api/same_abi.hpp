// Whether a program was compiled with the header of this library.
#pragma once

#include <cstdint>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/mylos.h"

namespace mylos::api {

inline void require_same_abi(std::int32_t abi) {
  if (abi == MYLOS_ABI_VERSION) return;
  fail_input(
      errors::unknown_version,
      "the program was compiled with a mylos.h (or a Fortran module) of ABI version {}, and runs with a "
      "libmylos.so of version {}; compile it again, or load the library that it was compiled for",
      abi, MYLOS_ABI_VERSION);
}

}  // namespace mylos::api
