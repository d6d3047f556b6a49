// Policy: the compute type of each layer, from `precision.compute` and the rules of the deck.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mylos/precision/options.hpp"

namespace mylos {

/// Returns the compute type of the layer `name` of kind `kind` ("linear", "layernorm", ...). A rule with the
/// exact name takes precedence over a pattern ('*' matches any characters), a pattern over a kind, and among
/// equals the later rule wins.
[[nodiscard]] DType compute_type(const PrecisionOptions& options, std::string_view name,
                                 std::string_view kind);

/// The same, but float where no rule applies: of layers whose numbers 16 bits would spoil.
[[nodiscard]] DType float_unless_ruled(const PrecisionOptions& options, std::string_view name,
                                       std::string_view kind);

/// Returns true if the rule applies to the layer `name` of kind `kind`.
[[nodiscard]] bool rule_applies(const PrecisionRule& rule, std::string_view name, std::string_view kind);

/// Returns true if `text` matches `pattern`, in which '*' matches any characters.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

/// Returns `to` with its stars replaced, in order, by what the stars of `from` match in `text`; nothing if
/// `from` does not match. If there are several matches, the first stars match as few characters as possible.
/// `to` has no more stars than `from`.
[[nodiscard]] std::optional<std::string> renamed(std::string_view from, std::string_view to,
                                                 std::string_view text);

/// Returns the gradient type of a layer with the compute type `compute`: the type of the deck, or by default
/// the compute type if a step has one micro-batch, and float if gradients accumulate over several.
[[nodiscard]] DType gradient_type(GradientType choice, DType compute, bool accumulates);

}  // namespace mylos
