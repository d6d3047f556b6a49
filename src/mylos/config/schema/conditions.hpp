// Conditions: what a deck must say for a key of it to have an effect. Each key's are declared beside it
// (Keys::only_with); require_effect() reads them, as do the resolved deck and the manual.
#pragma once

#include <string>
#include <vector>

#include "mylos/config/schema/schema.hpp"

namespace mylos {

/// The key has one of these values: words without their quotes, numbers and booleans as TOML.
[[nodiscard]] Condition with(std::string key, std::vector<std::string> values);
/// The same with another text.
[[nodiscard]] Condition with(std::string key, std::vector<std::string> values, std::string text);
/// A number above 0.
[[nodiscard]] Condition with_more_than_0(std::string key);
/// The deck gives the key, which has no default.
[[nodiscard]] Condition with_given(std::string key);

/// Some layer may compute in fp16: as precision.compute, a rule or an adaptation says.
[[nodiscard]] bool may_compute_in_half(const PrecisionOptions& precision);
[[nodiscard]] Condition with_half();
/// A loss scale other than 1.
[[nodiscard]] Condition with_loss_scale();
/// One that follows the overflows.
[[nodiscard]] Condition with_dynamic_scale();

/// Of the value `value` of a key, as TOML, alone.
[[nodiscard]] Condition of_value(std::string value, Condition condition);

}  // namespace mylos
