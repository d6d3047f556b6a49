// Values per axis of a grid: one for all axes, or a list of one for each. An empty list is not written.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "mylos/config/schema/types/value_type.hpp"

namespace mylos {

template <class T>
[[nodiscard]] ValueType<std::vector<T>> axes_type(const ValueType<T>& one) {
  auto type = or_none(list_type(
      one,
      {.text = one.text + ", or a list of them for each axis", .article = one.article, .min = 1, .max = 3}));
  type.read = [read = type.read](std::vector<T>& target, const Value& value) -> Found {
    const bool is_list = std::holds_alternative<Value::List>(value.held);
    return read(target, is_list ? value : Value{Value::List{value}}) ? Found(describe(value)) : std::nullopt;
  };
  type.write = [write = type.write, write_one = one.write](const std::vector<T>& numbers) {
    return numbers.size() == 1 ? write_one(numbers.front()) : write(numbers);
  };
  return type;
}

}  // namespace mylos
