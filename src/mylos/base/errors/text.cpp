#include "mylos/base/errors/text.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/errors/utf8.hpp"

namespace mylos {
namespace {

/// Returns true for bytes 0x80..0xBF, which continue a UTF-8 sequence.
bool continues_sequence(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::size_t end = text.size();
  if (end > max_bytes) {
    end = max_bytes;
    while (end > 0 && continues_sequence(text[end])) --end;
  }
  std::string result;
  for (std::size_t i = 0; i < end;) {
    const Utf8Character character = first_character(text.substr(i, end - i));
    if (character.bytes <= 0) {
      result += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[i++]));
      continue;
    }
    // Terminals interpret U+0080..U+009F as control characters, like the ASCII ones.
    const bool is_control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
    const auto bytes = static_cast<std::size_t>(character.bytes);
    if (is_control) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(character.code));
    } else {
      result += text.substr(i, bytes);
    }
    i += bytes;
  }
  return end < text.size() ? result + "..." : result;
}

std::string current_folder_note(const std::string& path) {
  if (std::filesystem::path(path).is_absolute()) return {};
  std::error_code failure;
  const std::string folder = std::filesystem::current_path(failure).string();
  return failure ? std::string(" (the current folder is gone)")
                 : fmt::format(" (the current folder is {})", folder);
}

}  // namespace mylos
