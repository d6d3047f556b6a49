// Value: the value after a '=' of a deck, independent of the parser that read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/error_id.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {

struct NamedValue;

struct Value {
  /// A kind of TOML value that no key of a deck accepts (dates and times); `what` is its name with its
  /// article.
  struct Foreign {
    std::string what;
  };
  using List = std::vector<Value>;
  using Table = std::vector<NamedValue>;  // in the order of the text

  std::variant<bool, std::int64_t, double, std::string, List, Table, Foreign> held;
};

struct NamedValue {
  std::string name;
  Value value;
};

/// Why a key does not take a value.
struct Mismatch {
  Mismatch(std::string found);  ///< of bad-value
  Mismatch(std::string found, ErrorId cause) : text(std::move(found)), id(cause) {}

  std::string text;  // describes the value, or the part of it that does not fit
  ErrorId id;
};
/// Nothing if the key takes the value.
using Found = std::optional<Mismatch>;

/// Describes the value for messages: `the integer 3`, `the string "abc"`, `a list`, `a table`.
[[nodiscard]] std::string describe(const Value& value);

/// Returns the value as TOML; numbers are reproduced bit for bit.
[[nodiscard]] std::string to_toml(const Value& value);

/// Returns the shortest text that reads back as the same number: 0.001, 1e-8, 65536.
[[nodiscard]] std::string shortest(double number);

}  // namespace mylos
