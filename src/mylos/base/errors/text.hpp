// Parts of messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mylos {

/// Returns `text` without leading and trailing blanks.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

/// Makes foreign text safe for one line of a terminal: escapes control characters and invalid UTF-8, and cuts
/// the text after `max_bytes`.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 60);

/// Returns a note for messages about a missing file: " (the current folder is FOLDER)" if `path` is relative,
/// else "".
[[nodiscard]] std::string current_folder_note(const std::string& path);

}  // namespace mylos
