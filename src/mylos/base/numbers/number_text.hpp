// Texts that consist of one number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace mylos {

/// Returns the number; nothing for a text with anything else, also around it. Doubles may be "inf" and "nan".
template <class Number>
[[nodiscard]] std::optional<Number> to_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [read, status] = std::from_chars(text.data(), end, number);
  return status == std::errc() && read == end ? std::optional(number) : std::nullopt;
}

}  // namespace mylos
