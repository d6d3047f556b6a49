#include "mylos/config/schema/types/edges_type.hpp"

#include <variant>

#include "mylos/base/errors/text.hpp"
#include "mylos/config/schema/types/axes_type.hpp"

namespace mylos {
namespace {

ValueType<Padding> one_type() {
  Words<Padding> words;
  for (const std::string_view name : padding_names)
    words.emplace_back(name, static_cast<Padding>(words.size()));
  return word_type(std::move(words));
}

Found read_by_name(const ValueType<Padding>& one, Edges& target, const Value::Table& table) {
  if (table.empty()) return Mismatch("an empty table");
  Edges edges;
  for (const NamedValue& each : table) {
    Padding padding{};
    if (one.read(padding, each.value))
      return fmt::format("a table whose '{}' is {}", printable(each.name), describe(each.value));
    edges.by_name.emplace_back(each.name, padding);
  }
  target = std::move(edges);
  return std::nullopt;
}

}  // namespace

ValueType<Edges> edges_type() {
  const ValueType<Padding> one = one_type();
  const ValueType<std::vector<Padding>> each = axes_type(one);
  return {each.text + ", or a table of them by the names of axes", one.article, one.choices,
          [one, each](Edges& target, const Value& value) -> Found {
            if (const auto* table = std::get_if<Value::Table>(&value.held))
              return read_by_name(one, target, *table);
            Edges edges;
            if (Found found = each.read(edges.by_axis, value)) return found;
            target = std::move(edges);
            return std::nullopt;
          },
          [one, each](const Edges& edges) -> std::optional<Value> {
            if (edges.by_name.empty()) return each.write(edges.by_axis);
            Value::Table table;
            for (const auto& [name, padding] : edges.by_name) table.push_back({name, *one.write(padding)});
            return Value{std::move(table)};
          }};
}

}  // namespace mylos
