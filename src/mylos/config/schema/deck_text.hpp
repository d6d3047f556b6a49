// Checks of a deck's text before the TOML parser reads it, and text access for the messages of its errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Throws if a text is empty, larger than 1 MiB, not UTF-8, or nested so deeply that a recursive parser (or
/// the destructor of its tree) could overflow the stack.
void check_deck_text(std::string_view text, const std::string& file_name);

/// Returns whether one value of the command line passes the same limits of size, encoding and depth.
[[nodiscard]] bool is_within_limits(std::string_view text);

/// The lines of a text, numbered from 1.
class Lines {
 public:
  explicit Lines(std::string_view text);

  /// Returns the line without its line break.
  [[nodiscard]] std::string_view line(std::size_t number) const;
  /// Returns the complete text above the line.
  [[nodiscard]] std::string_view above(std::size_t number) const;

 private:
  [[nodiscard]] std::size_t start(std::size_t number) const;

  std::string_view text_;
  std::vector<std::size_t> starts_;
};

/// The largest deck, in bytes.
constexpr std::size_t max_deck = std::size_t{1} << 20;

}  // namespace mylos
