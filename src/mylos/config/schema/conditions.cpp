#include "mylos/config/schema/conditions.hpp"

#include <algorithm>
#include <utility>

#include "mylos/config/schema/types/value_type.hpp"

namespace mylos {
namespace {

std::optional<Value> value_in(const Options& options, const std::string& key) {
  return schema().find_key(key)->write(options);
}

/// Returns whether the value is one of these, as words without quotes or as TOML.
bool is_one_of(const std::optional<Value>& value, const std::vector<std::string>& values) {
  if (!value) return false;
  const auto* word = std::get_if<std::string>(&value->held);
  return std::find(values.begin(), values.end(), word != nullptr ? *word : to_toml(*value)) != values.end();
}

bool is_word(const std::string& value) {
  return value != "true" && value != "false" && value.find_first_not_of("0123456789.-") != std::string::npos;
}

std::string text_of(const std::string& key, const std::vector<std::string>& values) {
  const bool are_words = is_word(values.front());
  return key + " = " + (are_words ? alternatives(values) : values.front());
}

ScalerMode mode_of(const PrecisionOptions& precision) {
  const ScalerMode mode = precision.scaler.mode;
  if (mode != ScalerMode::automatic) return mode;
  return may_compute_in_half(precision) ? ScalerMode::dynamic : ScalerMode::off;
}

}  // namespace

Condition with(std::string key, std::vector<std::string> values, std::string text) {
  Condition condition{std::move(text), {key}, {}};
  condition.holds = [key = std::move(key), values = std::move(values)](const Options& options) {
    return is_one_of(value_in(options, key), values);
  };
  return condition;
}

Condition with(std::string key, std::vector<std::string> values) {
  std::string text = text_of(key, values);
  return with(std::move(key), std::move(values), std::move(text));
}

Condition with(const Key& key, std::vector<std::string> values) {
  std::string text = text_of(key.name, values);
  return {std::move(text), {}, [write = key.write, values = std::move(values)](const Options& options) {
            return is_one_of(write(options), values);
          }};
}

Condition with_more_than_0(std::string key) {
  Condition condition{key + " above 0", {key}, {}};
  condition.holds = [key = std::move(key)](const Options& options) {
    const auto value = value_in(options, key);
    return value && number_in(*value).value_or(0) > 0;
  };
  return condition;
}

Condition with_given(std::string key) {
  Condition condition{key, {key}, {}};
  condition.holds = [key = std::move(key)](const Options& options) {
    return value_in(options, key).has_value();
  };
  return condition;
}

bool may_compute_in_half(const PrecisionOptions& precision) {
  const auto& types = precision.adaptation.types;
  const auto& rules = precision.rules;
  return precision.compute == DType::fp16 ||
         std::any_of(rules.begin(), rules.end(),
                     [](const PrecisionRule& rule) { return rule.type == DType::fp16; }) ||
         (precision.adapt && std::find(types.begin(), types.end(), DType::fp16) != types.end());
}

Condition with_half() {
  return {"a layer that computes in fp16", {"precision.compute"}, [](const Options& options) {
            return may_compute_in_half(options.precision);
          }};
}

Condition with_loss_scale() {
  return {"a loss scale (precision.scaler.mode = \"dynamic\" or \"static\", or \"auto\" and a layer in fp16)",
          {"precision.scaler.mode", "precision.compute"},
          [](const Options& options) { return mode_of(options.precision) != ScalerMode::off; }};
}

Condition with_dynamic_scale() {
  return {"a dynamic loss scale (precision.scaler.mode = \"dynamic\", or \"auto\" and a layer in fp16)",
          {"precision.scaler.mode", "precision.compute"},
          [](const Options& options) { return mode_of(options.precision) == ScalerMode::dynamic; }};
}

Condition of_value(std::string value, Condition condition) {
  condition.value = std::move(value);
  return condition;
}

}  // namespace mylos
