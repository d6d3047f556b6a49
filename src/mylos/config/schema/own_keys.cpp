#include "mylos/config/schema/own_keys.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {
namespace {

constexpr double max_setting = 3e38;  // blocks compute in float

}  // namespace

void fail_kinds(std::string_view key, std::string_view kind) {
  fail_run(errors::internal, "'{}' of the kind \"{}\" takes other values than that of another kind", key,
           kind);
}

ValueType<std::map<std::string, double>> numbers_by_name_type() {
  const ValueType<double> number = number_type({-max_setting, true, max_setting, true});
  return {"table of numbers",
          "a ",
          {},
          [read = number.read](std::map<std::string, double>& target, const Value& value) -> Found {
            const auto* table = std::get_if<Value::Table>(&value.held);
            if (table == nullptr) return describe(value);
            for (const NamedValue& each : *table) {
              if (!is_name(each.name)) return fmt::format("a table with the name \"{}\"", each.name);
              if (read(target[each.name], each.value))
                return fmt::format("a table whose '{}' is {}", each.name, describe(each.value));
            }
            return std::nullopt;
          },
          [write = number.write](const std::map<std::string, double>& settings) -> std::optional<Value> {
            if (settings.empty()) return std::nullopt;
            Value::Table table;
            for (const auto& [name, value] : settings) table.push_back({name, *write(value)});
            return Value{std::move(table)};
          }};
}

}  // namespace mylos
