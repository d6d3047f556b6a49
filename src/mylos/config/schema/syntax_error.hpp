// What is said when a deck is not TOML.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace mylos {

/// Throws Error: a duplicate key or section with the line of the first one, text without quotes, or the
/// parser's own description with line and column.
[[noreturn]] void fail_syntax(std::string_view text, const std::string& file_name,
                              const toml::parse_error& error);

}  // namespace mylos
