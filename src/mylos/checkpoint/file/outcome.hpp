// How a checkpoint that was written beside the steps has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/base/error.hpp"

namespace mylos {

struct CheckpointOutcome {
  std::int64_t step = 0;
  std::string path;  // of the file that is there now; empty where there is an error
  std::optional<Error> error;
  double seconds = 0;  // of writing, beside the steps
};

}  // namespace mylos
