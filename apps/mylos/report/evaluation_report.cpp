#include "run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "curves_json.hpp"
#include "mylos/train/evaluation/evaluation_rows.hpp"
#include "run_folder.hpp"
#include "run_table.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_metric_parts = 8;  // training, validation, test, and what a later version has
constexpr std::size_t max_metric_bytes = 60;
// The limit for a page that is drawn quickly: 200 x 200 numbers for each part.
constexpr std::size_t max_confusion_bytes = std::size_t{1} << 20;
constexpr std::size_t max_classes = 200;
constexpr std::size_t max_targets = 200;  // a run writes no more

bool is_matrix(const ordered_json& rows, std::size_t classes) {
  if (!rows.is_array() || rows.size() != classes) return false;
  return std::all_of(rows.begin(), rows.end(), [&](const ordered_json& row) {
    return row.is_array() && row.size() == classes &&
           std::all_of(row.begin(), row.end(),
                       [](const ordered_json& cell) { return cell.is_number_unsigned(); });
  });
}

bool is_confusion(const ordered_json& document) {
  if (!document.is_object() || !document.contains("classes") || !document.contains("parts")) return false;
  const ordered_json& classes = document["classes"];
  const ordered_json& parts = document["parts"];
  if (!classes.is_array() || classes.empty() || classes.size() > max_classes) return false;
  if (!parts.is_object() || parts.size() > max_metric_parts) return false;
  return std::all_of(classes.begin(), classes.end(),
                     [](const ordered_json& name) { return name.is_string(); }) &&
         std::all_of(parts.begin(), parts.end(),
                     [&](const ordered_json& rows) { return is_matrix(rows, classes.size()); });
}

bool is_row(const ordered_json& row, std::size_t targets) {
  return row.is_array() && row.size() == targets &&
         std::all_of(row.begin(), row.end(),
                     [](const ordered_json& cell) { return cell.is_number() || cell.is_null(); });
}

bool are_targets(const ordered_json& document) {
  if (!document.is_object() || !document.contains("targets") || !document.contains("parts")) return false;
  const ordered_json& targets = document["targets"];
  const ordered_json& parts = document["parts"];
  if (!targets.is_array() || targets.empty() || targets.size() > max_targets) return false;
  if (!parts.is_object() || parts.size() > max_metric_parts) return false;
  return std::all_of(targets.begin(), targets.end(),
                     [](const ordered_json& name) { return name.is_string(); }) &&
         std::all_of(parts.begin(), parts.end(),
                     [&](const ordered_json& row) { return is_row(row, targets.size()); });
}

/// Reads these members of a file, and its step; nothing if there is no such file, or if it is not `is_sound`.
ordered_json members_of(const std::string& folder, const std::string& name, const char* names,
                        bool (*is_sound)(const ordered_json&), const char* kind, ordered_json& notes) {
  SmallFile file = read_small_file(folder + "/" + name, max_confusion_bytes);
  if (!file.exists) return nullptr;
  if (file.problem.empty()) {
    const ordered_json document = ordered_json::parse(file.text, nullptr, false);
    if (is_sound(document)) {
      return {{"step", number_member(document, "step", 0)},
              {names, document[names]},
              {"parts", document["parts"]}};
    }
    file.problem = fmt::format("is not whole, or {}", kind);
  }
  notes.push_back(fmt::format("{}: {}: left out", name, file.problem));
  return nullptr;
}

}  // namespace

ordered_json evaluations_of(const std::string& folder, bool runs_on, std::size_t max_points,
                            ordered_json& notes) {
  std::map<std::string, StepCurves, std::less<>> parts;
  const std::vector<std::string> names = metric_columns();
  std::vector<std::string> columns{"step", "part"};
  columns.insert(columns.end(), names.begin(), names.end());
  CsvRows rows(columns, [&](CsvRows::Row row) {
    const auto step = step_of(row[0]);
    std::vector<double> values(names.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = number_or_nothing(row[2 + i]);
      if (!value) return false;
      values[i] = *value;
    }
    if (!step || row[1].empty() || row[1].size() > max_metric_bytes) return false;
    auto part = parts.find(row[1]);
    if (part == parts.end()) {
      if (parts.size() == max_metric_parts) return false;
      part = parts.emplace(row[1], StepCurves(names.size(), max_points)).first;
    }
    part->second.add(*step, values);
    return true;
  });
  if (!read_table(folder, "evaluations.csv", rows, runs_on, notes)) return nullptr;
  ordered_json document = ordered_json::object();
  for (const auto& [name, curves] : parts) document[name] = json_of(curves, names);
  return document;
}

ordered_json confusion_of(const std::string& folder, ordered_json& notes) {
  return members_of(folder, "confusion.json", "classes", is_confusion, "no confusion matrix", notes);
}

ordered_json targets_of(const std::string& folder, ordered_json& notes) {
  return members_of(folder, "targets.json", "targets", are_targets, "no R2 of targets", notes);
}

}  // namespace mylos::app
