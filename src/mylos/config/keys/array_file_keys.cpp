// data.fill and data.statistics: missing values and statistics of arrays as they lie in files.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

void fill_fill(Key& key) {
  const ValueType<double> number = number_type({-3.4028234663852886e38, true, 3.4028234663852886e38, true});
  key.type = "\"error\" or " + number.text;
  key.default_text = "\"error\"";
  key.choices = {"error"};
  key.read = [read = number.read](Options& options, const Value& value) -> Found {
    const auto* word = std::get_if<std::string>(&value.held);
    std::optional<double>& fill = options.data.arrays.fill;
    if (word != nullptr && *word == "error") {
      fill.reset();
      return std::nullopt;
    }
    double held = 0;
    if (Found found = read(held, value)) return found;
    fill = held;
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    const std::optional<double>& fill = options.data.arrays.fill;
    return fill ? Value{*fill} : Value{std::string("error")};
  };
}

void fill_statistics(Key& key) {
  key.takes_any_text = true;
  key.default_text = "none";
  key.read = [](Options& options, const Value& value) -> Found {
    const auto* text = std::get_if<std::string>(&value.held);
    if (text == nullptr || !is_path(*text)) return describe(value);
    options.data.arrays.statistics = *text;
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    const std::string& file = options.data.arrays.statistics;
    if (file.empty()) return std::nullopt;
    return Value{file};
  };
}

}  // namespace

void add_keys_of_array_files(Key& fill, Key& statistics) {
  fill_fill(fill);
  fill_statistics(statistics);
}

}  // namespace mylos
