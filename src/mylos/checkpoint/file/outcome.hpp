// The result of a checkpoint that was written asynchronously.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/base/error.hpp"

namespace mylos {

struct CheckpointOutcome {
  std::int64_t step = 0;
  std::string path;  // path of the file; empty if there is an error
  std::optional<Error> error;
  double seconds = 0;  // duration of the asynchronous write
};

}  // namespace mylos
