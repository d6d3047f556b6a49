// The table of all errors, from which docs/reference/errors.md is generated.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mylos/base/error_id.hpp"

namespace mylos {

struct ErrorEntry {
  ErrorId id;
  std::string_view name;
  std::string_view cause;
  std::string_view cure;
};

struct ErrorTopic {
  std::string_view title;
  std::span<const ErrorEntry> entries;
};

/// All errors, in the order of ErrorId.
[[nodiscard]] std::span<const ErrorTopic> error_topics();

/// Returns docs/reference/errors.md.
[[nodiscard]] std::string error_manual();

}  // namespace mylos
