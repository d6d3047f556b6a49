// JSON of the page: short numbers, and text that is safe within a page's script element.
#pragma once

#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

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

/// What the page needs a value of an untrusted document to be.
using Requirement = std::function<bool(const ordered_json&)>;

[[nodiscard]] bool is_text(const ordered_json& value);
[[nodiscard]] bool is_number(const ordered_json& value);
[[nodiscard]] bool is_number_or_null(const ordered_json& value);
/// An array of `min` to `max` such elements.
[[nodiscard]] Requirement list_of(Requirement element, std::size_t min, std::size_t max);
/// An object of any names, with at most `max` such members.
[[nodiscard]] Requirement map_of(Requirement member, std::size_t max);
/// Returns whether the document is an object with these members.
[[nodiscard]] bool has_members(const ordered_json& document,
                               std::initializer_list<std::pair<const char*, Requirement>> members);
/// Returns the number of elements of a member; 0 if there is none.
[[nodiscard]] std::size_t size_of_member(const ordered_json& document, const char* key);

}  // namespace mylos::app
