// Parts of messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mylos {

/// Without the blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

/// A stranger's text made fit for one line of a terminal: control characters and bytes that are no UTF-8
/// escaped, the end cut off past `max_bytes`.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 60);

/// For a message on a file that is not there: " (the current folder is FOLDER)" where `path` is relative,
/// else nothing.
[[nodiscard]] std::string current_folder_note(const std::string& path);

}  // namespace mylos
