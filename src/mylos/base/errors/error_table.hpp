// The table of all errors, from which docs/reference/errors.md is generated.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mylos/base/error_id.hpp"

namespace mylos {

struct ErrorEntry {
  ErrorId id;
  std::string_view cause;
  std::string_view cure;
};

struct ErrorTopic {
  std::string_view title;
  std::span<const ErrorEntry> entries;
};

/// All errors, by topic.
[[nodiscard]] std::span<const ErrorTopic> error_topics();

/// Returns the error of this name, which another process or rank has sent; nothing if there is none.
[[nodiscard]] std::optional<ErrorId> error_named(std::string_view name);

/// Returns docs/reference/errors.md.
[[nodiscard]] std::string error_manual();

}  // namespace mylos
