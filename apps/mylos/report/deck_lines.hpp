// DeckLines: the keys and values of a run's resolved.toml, from any version of Mylos, in the order of the
// file.
//
// The schema does not read it, because it would refuse unknown keys. A run writes one key per line; other
// TOML is read only as far as it has one key per line. The second table [[model.layers]] is the key
// "model.layers.2".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mylos::app {

class DeckLines {
 public:
  explicit DeckLines(std::string_view text);

  /// "optimizer.lr" and the value as TOML: `0.001`, `"adamw"`.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& keys() const { return keys_; }
  /// The value as TOML; null if the deck has no such key.
  [[nodiscard]] const std::string* find(std::string_view key) const;
  /// "" if the deck has no such key. Texts are without their quotes.
  [[nodiscard]] std::string value(std::string_view key) const;
  /// 0 if the deck has no such key, or if its value is not a number.
  [[nodiscard]] double number(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> keys_;
};

}  // namespace mylos::app
