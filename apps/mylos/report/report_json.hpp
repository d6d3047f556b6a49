// JSON of the page: short numbers, and text that is safe within a page's script element.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mylos::app {

using nlohmann::ordered_json;  // members stay in the order in which they are read best

/// Rounds to six digits, more than a screen shows; null if the value is not finite.
[[nodiscard]] ordered_json short_number(double value);

/// The document as text for <script type="application/json">: pure ASCII, no "<", ">" or "&", so that
/// its content cannot end the element; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string script_text(const ordered_json& document);

/// Returns a member's number or text; nothing for another type. `document` may be any JSON value.
[[nodiscard]] double number_member(const ordered_json& document, const char* key, double otherwise);
[[nodiscard]] std::string text_member(const ordered_json& document, const char* key);

}  // namespace mylos::app
