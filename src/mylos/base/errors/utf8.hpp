// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mylos {

/// One more than the largest code point.
inline constexpr std::int64_t code_points = 0x110000;

struct Utf8Character {
  char32_t code = 0;
  int bytes = 0;  // 0: the text does not start with a character; -1: the text ends within it
};

/// Decodes the character at the start of `text`, which must not be empty.
[[nodiscard]] inline Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {static_cast<char32_t>(lead), 1};
  if (lead < 0xc2 || lead > 0xf4) return {};
  const int length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  // The range of the second byte excludes overlong forms, surrogates and code points above U+10FFFF.
  unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  char32_t code = lead & (0x7fu >> length);
  for (int i = 1; i < length; ++i) {
    if (static_cast<std::size_t>(i) == text.size()) return {0, -1};
    const unsigned next = byte(static_cast<std::size_t>(i));
    if (next < low || next > high) return {};
    code = code << 6 | (next & 0x3f);
    low = 0x80;
    high = 0xbf;
  }
  return {code, length};
}

/// Returns true if all of `text` is valid UTF-8.
[[nodiscard]] inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.bytes <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(character.bytes));
  }
  return true;
}

/// The mark that some editors put before UTF-8 text.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Appends a code point as UTF-8.
inline void append_character(std::string& text, char32_t code) {
  const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
    return;
  }
  const int further = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  put((0xff00u >> (further + 1) & 0xff) | code >> (6 * further));
  for (int i = further - 1; i >= 0; --i) put(0x80 | (code >> (6 * i) & 0x3f));
}

/// Returns a code point as messages show it: 'é' (U+00E9).
[[nodiscard]] inline std::string character_text(char32_t code) {
  const std::string number = fmt::format("U+{:04X}", static_cast<std::uint32_t>(code));
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return number;
  std::string text;
  append_character(text, code);
  return fmt::format("'{}' ({})", text, number);
}

}  // namespace mylos
