// The differences of two networks that initial.ignore lists, and those that it does not.
#include <fmt/ranges.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/precision/policy.hpp"
#include "mylos/train/start/initial_meaning.hpp"

namespace mylos {

std::vector<KeyDifference> require_same_network(const std::vector<KeyDifference>& differences,
                                                const std::vector<std::string>& ignore,
                                                const std::string& path, const Places& places) {
  constexpr std::size_t max_described = 4;
  std::vector<KeyDifference> ignored;
  std::vector<const KeyDifference*> refused;
  std::vector<std::string> keys;  // all that differ
  std::vector<bool> serves(ignore.size());
  for (const KeyDifference& difference : differences) {
    bool is_ignored = false;
    for (std::size_t i = 0; i < ignore.size(); ++i) {
      if (!matches_pattern(ignore[i], difference.key)) continue;
      is_ignored = serves[i] = true;
    }
    if (is_ignored) {
      ignored.push_back(difference);
    } else {
      refused.push_back(&difference);
    }
    if (keys.size() < max_described) keys.push_back(difference.key);
  }
  if (!refused.empty()) {
    std::vector<std::string> described;
    std::vector<std::string> quoted;
    for (const KeyDifference* difference : refused) {
      if (described.size() == max_described) break;
      described.push_back(fmt::format("{} is {} here, and {} there", difference->key,
                                      printable(difference->after, 200), printable(difference->before, 200)));
      quoted.push_back(fmt::format("\"{}\"", difference->key));
    }
    const std::string more = refused.size() > described.size()
                                 ? fmt::format("; and {} keys more", refused.size() - described.size())
                                 : "";
    fail_input(errors::model_mismatch,
               "{}{}: holds weights of a network that uses them differently: {}{}. Change the deck, or use "
               "the weights anyway: initial.ignore = [{}]",
               place_of(places, {refused.front()->key, "run.initial"}), path, fmt::join(described, "; "),
               more, fmt::join(quoted, ", "));
  }
  for (std::size_t i = 0; i < ignore.size(); ++i) {
    if (serves[i]) continue;
    const std::string what = keys.empty() ? "nothing differs that is compared"
                                          : fmt::format("what differs is {}{}", fmt::join(keys, ", "),
                                                        differences.size() > keys.size() ? ", ..." : "");
    fail_input(errors::key_without_effect, "{}initial.ignore: '{}' ignores nothing of {}: {}; leave it out",
               place_of(places, {"initial.ignore"}), printable(ignore[i]), path, what);
  }
  return ignored;
}

}  // namespace mylos
