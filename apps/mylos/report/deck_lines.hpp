// DeckLines: the keys and values of a deck as a run echoes it, resolved.toml, of whatever version of Mylos,
// in the order of the file.
//
// Not read by the schema: it would refuse keys that it does not know. A run writes one key a line; of other
// TOML what is one key a line is understood. The second table [[model.layers]] is the key "model.layers.2".
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
  /// "" where the deck has no such key. Texts without their quotes.
  [[nodiscard]] std::string value(std::string_view key) const;
  /// 0 where the deck has no such key, or no number there.
  [[nodiscard]] double number(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> keys_;
};

}  // namespace mylos::app
