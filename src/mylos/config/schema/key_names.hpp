// Keys of decks by the names that users give them, apart from what keys hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mylos {

/// Returns the path of the key that has this path, or this name in any section, or that other frameworks call
/// so.
[[nodiscard]] std::optional<std::string> key_called(std::string_view name);

}  // namespace mylos
