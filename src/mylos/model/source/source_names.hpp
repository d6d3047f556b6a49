// Names in exported source: of the network, which its user chooses, and of the constants of its layers.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace mylos {

/// Returns whether `name` can name a network in C, C++ and Fortran: a letter, then letters, digits and
/// underscores, at most 40 characters, no keyword of any of them, and no function of <math.h> or <string.h>.
[[nodiscard]] bool is_source_name(std::string_view name);

/// Returns the text in lower case.
[[nodiscard]] std::string lower_case(std::string_view text);

/// Hands out names that no language confuses: lower case, letters, digits and underscores, each once.
class SourceNames {
 public:
  /// `taken`: in lower case.
  explicit SourceNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

  /// Returns the layer's name with this ending, "hidden1_weight", changed as little as necessary.
  std::string add(std::string_view layer, std::string_view ending);

 private:
  std::set<std::string> taken_;
};

}  // namespace mylos
