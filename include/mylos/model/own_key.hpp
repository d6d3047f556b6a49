// OwnKey: a key of the deck for an option that only one kind of layers or losses has. A kind is a struct with
// its own options; a list of kinds is a std::variant of such structs.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace mylos {

/// The range of numbers.
struct OwnRange {
  double min = 0;
  double max = 0;
  bool above_min = false;  // `min` itself is outside
  bool below_max = false;  // `max` itself is outside
};

/// A key for the option `member`, whose type says what the key takes: a boolean, an integer, a number, one
/// number or a list with one for each axis, edges, a name, numbers by name, or one of `words`. Keys of one
/// name take the same values in all kinds that have it.
template <class Kind, class Option>
struct OwnKey {
  std::string_view name;
  Option Kind::*member;
  std::string_view meaning;                      // for the manual
  std::string_view by_default = "";              // in words, if the option's initial value is none
  OwnRange range = {};                           // of numbers, and of each in a list
  std::span<const std::string_view> words = {};  // in the order of an enumeration
  std::string_view list = "";                    // of a list of any length: what it is in messages
  bool is_required = false;
  bool names_layer = false;      // its value is the name of a layer
  bool says_parameters = false;  // which parameters there are, not what is computed with them
};

/// Returns the traits of each kind, in the order of the variant.
template <class... Kinds>
[[nodiscard]] constexpr auto traits_of_kinds(const std::variant<Kinds...>* /*type*/) {
  return std::array{Kinds::traits...};
}

/// Returns the kind of this index, with the initial values of its options.
template <class Variant>
[[nodiscard]] Variant kind_at(std::size_t index) {
  Variant kind;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    static_cast<void>(((i == index && (kind.template emplace<i>(), true)) || ...));
  }
  (std::make_index_sequence<std::variant_size_v<Variant>>());
  return kind;
}

}  // namespace mylos
