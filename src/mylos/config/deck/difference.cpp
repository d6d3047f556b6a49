#include "mylos/config/deck/difference.hpp"

#include "mylos/config/schema/schema.hpp"

namespace mylos {
namespace {

std::string text_of(const Key& key, const Options& options) {
  const std::optional<Value> value = key.effective(options);
  return value ? to_toml(*value) : "nothing";
}

}  // namespace

std::vector<KeyDifference> differing_keys(const Options& before, const Options& after) {
  std::vector<KeyDifference> differences;
  for (const Key& key : schema().keys) {
    KeyDifference difference{key.path(), text_of(key, before), text_of(key, after)};
    if (difference.before != difference.after) differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace mylos
