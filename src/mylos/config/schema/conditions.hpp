// Conditions on a deck under which a key has an effect. Each key declares its own (Keys::only_with);
// require_effect(), the resolved deck and the manual read them.
#pragma once

#include <string>
#include <vector>

#include "mylos/config/schema/schema.hpp"

namespace mylos {

/// Holds if the key has one of these values: words without quotes, numbers and booleans as TOML.
[[nodiscard]] Condition with(std::string key, std::vector<std::string> values);
/// The same condition with another text.
[[nodiscard]] Condition with(std::string key, std::vector<std::string> values, std::string text);
/// The same condition on another key of the same table of a list.
[[nodiscard]] Condition with(const Key& key, std::vector<std::string> values);
/// Holds if the key's number is above 0.
[[nodiscard]] Condition with_more_than_0(std::string key);
/// Holds if the deck gives the key, which has no default.
[[nodiscard]] Condition with_given(std::string key);

/// Returns whether a layer may compute in fp16, by precision.compute, a rule or an adaptation.
[[nodiscard]] bool may_compute_in_half(const PrecisionOptions& precision);
[[nodiscard]] Condition with_half();
/// Holds for a loss scale other than 1.
[[nodiscard]] Condition with_loss_scale();
/// Holds for a loss scale that follows overflows.
[[nodiscard]] Condition with_dynamic_scale();

/// Restricts a condition to the value `value` of a key, as TOML.
[[nodiscard]] Condition of_value(std::string value, Condition condition);

}  // namespace mylos
