// Value: what a deck writes behind a '=', apart from the parser that read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mylos/base/errors/text.hpp"

namespace mylos {

struct NamedValue;

struct Value {
  /// A kind of TOML value that no key of a deck takes (dates and times); `what` names it with its article.
  struct Foreign {
    std::string what;
  };
  using List = std::vector<Value>;
  using Table = std::vector<NamedValue>;  // in the order in which it was written

  std::variant<bool, std::int64_t, double, std::string, List, Table, Foreign> held;
};

struct NamedValue {
  std::string name;
  Value value;
};

/// What was found, for messages: `the integer 3`, `the string "abc"`, `a list`, `a table`.
[[nodiscard]] std::string describe(const Value& value);

/// The value as TOML; numbers read back bit for bit.
[[nodiscard]] std::string to_toml(const Value& value);

/// 0.001, 1e-8, 65536: the shortest text that reads back to the same number.
[[nodiscard]] std::string shortest(double number);

}  // namespace mylos
