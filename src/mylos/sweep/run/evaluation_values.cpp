#include "mylos/sweep/run/evaluation_values.hpp"

#include <cmath>

#include "mylos/io/files/file_pieces.hpp"
#include "mylos/io/tables/csv_rows.hpp"

namespace mylos {
namespace {

/// Returns the column of evaluations.csv that holds a quantity: that of a rollout is named without its steps.
std::string column_of(const std::string& quantity) {
  return quantity.starts_with("rollout") ? "rollout" : quantity;
}

}  // namespace

std::int64_t read_evaluations(const std::string& file, const std::string& metric,
                              const std::function<void(const EvaluatedValue&)>& take) {
  const std::size_t dot = metric.find('.');
  const std::string part = dot == std::string::npos ? "validation" : metric.substr(0, dot);
  const std::string column = column_of(dot == std::string::npos ? metric : metric.substr(dot + 1));
  CsvRows rows({"step", "part", column, "elapsed_s"}, [&](CsvRows::Row row) {
    const auto step = step_of(row[0]);
    const auto value = number_or_nothing(row[2]);
    const auto elapsed_s = number_or_nothing(row[3]);
    if (!step || row[1].empty() || !value || !elapsed_s) return false;
    if (row[1] == part) take({*step, *value, *elapsed_s});
    return true;
  });
  read_in_pieces(file, [&](std::string_view piece) { rows.feed(piece); });
  return rows.damaged();
}

std::vector<EvaluatedValue> evaluated_values(const std::string& file, const Metric& metric) {
  std::vector<EvaluatedValue> values;
  read_evaluations(file, name_of(metric), [&](const EvaluatedValue& value) {
    if (std::isfinite(value.value)) values.push_back(value);
  });
  return values;
}

std::optional<EvaluatedValue> best_of(const std::vector<EvaluatedValue>& values, const Metric& metric) {
  std::optional<EvaluatedValue> best;
  for (const EvaluatedValue& value : values)
    if (!best || is_better(metric, value.value, best->value)) best = value;
  return best;
}

}  // namespace mylos
