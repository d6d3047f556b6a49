#include "mylos/config/schema/keys.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {

void fail_limit(const std::string& section, std::string_view name) {
  fail_run(errors::internal, "[{}] has no key '{}' that could be limited", section, name);
}

std::string text_of_default(const std::optional<Value>& value, std::string_view words) {
  if (!value) return words.empty() ? "none" : std::string(words);
  const auto* number = std::get_if<double>(&value->held);
  return number != nullptr ? shortest(*number) : to_toml(*value);
}

}  // namespace mylos
