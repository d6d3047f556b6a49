#include "mylos/train/start/layer_facts.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

namespace mylos {
namespace {

// The value of a layer's option in messages: "3", or "[3, 1]" where axes differ.
template <class Number>
std::string text_of(const std::vector<Number>& numbers, std::span<const std::string_view> /*words*/) {
  if (numbers.empty()) return "none";
  const bool are_equal =
      std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end();
  return are_equal ? fmt::format("{}", numbers.front()) : fmt::format("[{}]", fmt::join(numbers, ", "));
}
template <class Scalar>
std::string text_of(const Scalar& value, std::span<const std::string_view> words) {
  if constexpr (std::is_enum_v<Scalar>) {
    return fmt::format("\"{}\"", words[static_cast<std::size_t>(value)]);
  } else {
    return fmt::format("{}", value);
  }
}
std::string text_of(const std::string& name, std::span<const std::string_view> /*words*/) {
  return fmt::format("\"{}\"", name);
}
std::string text_of(const Edges& edges, std::span<const std::string_view> words) {
  std::vector<std::string> by_axis;
  for (const Padding padding : edges.by_axis)
    by_axis.push_back(fmt::format("\"{}\"", padding_names[static_cast<std::size_t>(padding)]));
  return text_of(by_axis, words);
}
std::string text_of(const std::map<std::string, double>& settings,
                    std::span<const std::string_view> /*words*/) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : settings) entries.push_back(fmt::format("{} = {}", name, value));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

/// Adds the options that only this kind of layer has, all but names of layers, which LayerComparison
/// compares, and those that say which parameters there are.
template <class Kind>
void add_own_facts(const Kind& kind, LayerFacts& facts) {
  const auto add = [&](const auto& own) {
    if (!own.says_parameters && !own.names_layer)
      facts.emplace_back(own.name, text_of(kind.*own.member, own.words));
  };
  std::apply([&](const auto&... keys) { (add(keys), ...); }, Kind::keys());
}

std::string_view activation_word(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "\"none\"";
    case Activation::relu:
      return "\"relu\"";
    case Activation::gelu:
      return "\"gelu\"";
    case Activation::gelu_tanh:
      return "\"gelu_tanh\"";
    case Activation::tanh:
      return "\"tanh\"";
    case Activation::silu:
      break;
  }
  return "\"silu\"";
}

}  // namespace

LayerFacts layer_facts(const LayerOptions& layer) {
  LayerFacts facts{{"kind", fmt::format("\"{}\"", name_of(layer.kind))}};
  std::visit(
      [&](const auto& kind) {
        if constexpr (requires { kind.stated(); }) {
          add_own_facts(kind.stated(), facts);
        } else {
          add_own_facts(kind, facts);
        }
      },
      layer.kind);
  const bool has_groups = layer.norm == NormType::groupnorm;
  facts.emplace_back("norm", fmt::format("\"{}\"", name_of(layer.norm)));
  facts.emplace_back("norm_groups", has_groups ? fmt::format("{}", layer.norm_groups) : "none");
  facts.emplace_back("activation", activation_word(layer.activation));
  return facts;
}

LayerFacts named_layers(const LayerOptions& layer) {
  LayerFacts names{{"skip_from", layer.skip_from}};
  const auto add = [&](const auto& kind, const auto& own) {
    if constexpr (std::is_same_v<std::decay_t<decltype(kind.*own.member)>, std::string>)
      if (own.names_layer) names.emplace_back(own.name, kind.*own.member);
  };
  std::visit(
      [&](const auto& kind) {
        std::apply([&](const auto&... keys) { (add(kind, keys), ...); },
                   std::decay_t<decltype(kind)>::keys());
      },
      layer.kind);
  return names;
}

}  // namespace mylos
