// The messages for decks that are not TOML.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace mylos {

/// Throws Error: for a duplicate key or section with the line of the first one, for text without quotes, or
/// with the parser's own description, line and column.
[[noreturn]] void fail_syntax(std::string_view text, const std::string& file_name,
                              const toml::parse_error& error);

}  // namespace mylos
