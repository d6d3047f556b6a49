// Checks the conditions of every key (Key::only_with).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/schema.hpp"

namespace mylos {
namespace {

/// Returns `optimizer.type is "adamw" (its default)`.
std::string describe_key(const std::string& path, const Options& options, const GivenPlaces& given) {
  const auto value = schema().find_key(path)->write(options);
  const auto place = given.find(path);
  const std::string where = place == given.end() ? "its default" : place->second.text();
  return value ? fmt::format("{} is {} ({})", path, to_toml(*value), where) : path + " is not given";
}

std::string describe_keys(const Condition& condition, const Options& options, const GivenPlaces& given) {
  std::vector<std::string> keys;
  for (const std::string& path : condition.keys) keys.push_back(describe_key(path, options, given));
  return keys.empty() ? "" : fmt::format(", and {}", fmt::join(keys, ", "));
}

}  // namespace

void require_effect(const Options& options, const GivenPlaces& given) {
  for (const Key& key : schema().keys) {
    const auto place = given.find(key.path());
    if (place == given.end()) continue;
    const Condition* unmet = key.unmet(options);
    if (unmet == nullptr) continue;
    const std::string value = unmet->value.empty() ? "" : " = " + unmet->value;
    fail_input(errors::key_without_effect, "{}: '{}'{} has an effect only with {}{}; leave it out",
               place->second.text(), key.path(), value, unmet->text, describe_keys(*unmet, options, given));
  }
}

}  // namespace mylos
