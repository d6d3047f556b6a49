// The words of a deck that several keys take.
#pragma once

#include <initializer_list>
#include "mylos/config/options.hpp"
#include "mylos/config/schema/types/value_type.hpp"

namespace mylos {

[[nodiscard]] inline const Words<DType>& type_words() {
  static const Words<DType> words{{"bf16", DType::bf16}, {"fp16", DType::fp16}, {"fp32", DType::fp32}};
  return words;
}

[[nodiscard]] inline Words<Activation> activation_words() {
  using enum Activation;
  return {{"relu", relu}, {"gelu", gelu}, {"gelu_tanh", gelu_tanh},
          {"tanh", tanh}, {"silu", silu}, {"none", none}};
}

/// The words of an enumeration whose values have names: name_of(value).
template <class Enumeration>
[[nodiscard]] Words<Enumeration> names_of(std::initializer_list<Enumeration> values) {
  Words<Enumeration> words;
  for (const Enumeration value : values) words.emplace_back(name_of(value), value);
  return words;
}

/// The words of an enumeration each of whose values has a row of traits with its name.
template <class Enumeration>
[[nodiscard]] Words<Enumeration> words_of(const auto& traits) {
  Words<Enumeration> words;
  for (const auto& row : traits) words.emplace_back(row.name, static_cast<Enumeration>(words.size()));
  return words;
}

}  // namespace mylos
