// Policy: the type in which each layer computes, from `precision.compute` and the rules of the deck.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mylos/precision/options.hpp"

namespace mylos {

/// The compute type of the layer `name` of kind `kind` ("linear", "layernorm", ...). A rule with the exact
/// name beats a pattern ('*' stands for any characters), a pattern beats a kind; among equals the later rule
/// wins.
[[nodiscard]] DType compute_type(const PrecisionOptions& options, std::string_view name,
                                 std::string_view kind);

/// True if the rule speaks of the layer `name` of kind `kind`.
[[nodiscard]] bool rule_applies(const PrecisionRule& rule, std::string_view name, std::string_view kind);

/// True if `text` matches `pattern`, in which '*' stands for any characters.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

/// `to`, whose stars stand for what those of `from` match of `text`, one after the other; nothing where
/// `from` does not match. Where it does in several ways, the first stars take as little as they can. `to` has
/// no more stars than `from`.
[[nodiscard]] std::optional<std::string> renamed(std::string_view from, std::string_view to,
                                                 std::string_view text);

/// The type of the gradient of a layer that computes in `compute`: the compute type while a step has one
/// micro-batch, float as soon as gradients accumulate over several, or as the deck says.
[[nodiscard]] DType gradient_type(GradientType choice, DType compute, bool accumulates);

}  // namespace mylos
