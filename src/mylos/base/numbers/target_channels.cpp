#include "mylos/base/numbers/target_channels.hpp"

#include <algorithm>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/nearest.hpp"

namespace mylos {

bool is_channel_of(std::string_view name, std::string_view array) {
  array.remove_prefix(std::min(array.find_first_not_of('/'), array.size()));
  if (!name.starts_with(array)) return false;
  const std::string_view rest = name.substr(array.size());
  if (rest.empty()) return true;
  return rest.size() > 2 && rest.front() == '[' && rest.back() == ']' &&
         rest.find_first_not_of("0123456789", 1) == rest.size() - 1;
}

std::vector<std::int64_t> channels_of_targets(const std::string& what,
                                              const std::vector<std::string>& targets,
                                              const std::vector<std::string>& names, std::int64_t channels) {
  if (names.empty()) {
    fail_input(errors::data_mismatch,
               "{} names \"{}\", and no names of targets are known: the data state none (/target_names)",
               what, printable(targets.front()));
  }
  if (static_cast<std::int64_t>(names.size()) != channels) {
    fail_input(errors::data_mismatch,
               "{} names \"{}\", and the data have {} names of targets for the {} channels of the outputs",
               what, printable(targets.front()), names.size(), channels);
  }
  std::vector<std::int64_t> found;
  for (const std::string& target : targets) {
    const std::size_t before = found.size();
    const bool is_name = std::ranges::find(names, target) != names.end();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (is_name ? names[i] != target : !is_channel_of(names[i], target)) continue;
      const auto channel = static_cast<std::int64_t>(i);
      if (std::ranges::find(found, channel) != found.end())
        fail_input(errors::bad_value, "{} names the target \"{}\" twice", what, printable(names[i]));
      found.push_back(channel);
    }
    if (found.size() > before) continue;
    fail_input(errors::unknown_name,
               "{} names \"{}\", which is no target of the data; the most similar are {}", what,
               printable(target), nearest_names(target, names));
  }
  return found;
}

}  // namespace mylos
