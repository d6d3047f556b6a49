#include "mylos/sweep/run/evaluation_values.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <string_view>

#include "mylos/base/errors/file_text.hpp"
#include "mylos/io/files/output_file.hpp"

namespace mylos {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [read, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && read == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<EvaluatedValue> evaluated_values(const std::string& file, const Metric& metric) {
  if (!is_regular(file)) return {};
  std::ifstream lines(file);
  std::string line;
  std::vector<EvaluatedValue> values;
  if (!std::getline(lines, line)) {
    require_read(lines, file);
    return values;
  }
  std::map<std::string, std::size_t, std::less<>> columns;
  for (const std::string_view name : fields_of(line)) columns.emplace(std::string(name), columns.size());
  const auto value_column = columns.find(metric.column);
  const auto step_column = columns.find("step");
  const auto part_column = columns.find("part");
  if (value_column == columns.end() || step_column == columns.end() || part_column == columns.end())
    return values;
  while (std::getline(lines, line)) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != columns.size() || fields[part_column->second] != name_of(metric.part)) continue;
    const auto step = number_of<std::int64_t>(fields[step_column->second]);
    const auto value = number_of<double>(fields[value_column->second]);
    if (step && value && std::isfinite(*value)) values.push_back({*step, *value});
  }
  require_read(lines, file);
  return values;
}

std::optional<EvaluatedValue> best_of(const std::vector<EvaluatedValue>& values, const Metric& metric) {
  std::optional<EvaluatedValue> best;
  for (const EvaluatedValue& value : values)
    if (!best || is_better(metric, value.value, best->value)) best = value;
  return best;
}

}  // namespace mylos
