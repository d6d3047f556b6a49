#include "mylos/model/parameters/parameter_names.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {

std::vector<std::string> parameter_names(const Chain& chain) {
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& parameter : chain.stage_parameters(stage))
      names.push_back(chain.stage_name(stage) + "/" + parameter.name);
  }
  return names;
}

void require_match(const std::string& where, const std::string& pattern,
                   const std::vector<std::string>& names) {
  const auto matches = [&](const std::string& name) { return matches_pattern(pattern, name); };
  if (std::any_of(names.begin(), names.end(), matches)) return;
  fail_input(errors::unknown_name, "{}: '{}' matches no tensor of this model; the most similar are {}", where,
             printable(pattern), nearest_names(pattern, names));
}

}  // namespace mylos
