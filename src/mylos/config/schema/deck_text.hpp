// What is checked of a deck's text before the TOML parser sees it, and what is said when the parser refuses
// it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Throws for a text that is empty, larger than 1 MiB, not UTF-8, or nested so deep that a recursive parser
/// (or the destructor of its tree) could run out of stack.
void check_deck_text(std::string_view text, const std::string& file_name);

/// The same limits of size, encoding and depth, for one value of the command line.
[[nodiscard]] bool is_harmless(std::string_view text);

/// The lines of a text, numbered from 1.
class Lines {
 public:
  explicit Lines(std::string_view text);

  /// The line without its end.
  [[nodiscard]] std::string_view line(std::size_t number) const;
  /// All the text above the line.
  [[nodiscard]] std::string_view above(std::size_t number) const;

 private:
  [[nodiscard]] std::size_t start(std::size_t number) const;

  std::string_view text_;
  std::vector<std::size_t> starts_;
};

/// The largest deck, in bytes.
constexpr std::size_t max_deck = std::size_t{1} << 20;

}  // namespace mylos
