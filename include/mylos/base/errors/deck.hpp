// Error ids of the deck. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// The deck is not TOML or not UTF-8 text.
inline constexpr ErrorId deck_syntax{"deck-syntax"};
/// The deck is empty, too large or nested too deeply.
inline constexpr ErrorId deck_size{"deck-size"};
/// The section, or the table of a list, has no such key.
inline constexpr ErrorId unknown_key{"unknown-key"};
/// A deck has no such section.
inline constexpr ErrorId unknown_section{"unknown-section"};
/// A key or a name is given twice.
inline constexpr ErrorId duplicate_key{"duplicate-key"};
/// A key that this deck needs is not given.
inline constexpr ErrorId missing_key{"missing-key"};
/// A key's value has the wrong type or is outside its limits.
inline constexpr ErrorId bad_value{"bad-value"};
/// The key has no effect with the other keys of this deck, with its data, or in a program that provides the
/// samples.
inline constexpr ErrorId key_without_effect{"key-without-effect"};
/// A name or pattern in the deck or on the command line matches nothing: no layer, parameter, tensor or
/// metric.
inline constexpr ErrorId unknown_name{"unknown-name"};

}  // namespace mylos::errors
