#include "run_parts.hpp"

#include <map>

#include "mylos/train/evaluation/evaluation_rows.hpp"
#include "run_folder.hpp"
#include "step_curves.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_metric_parts = 8;  // training, validation, test, and what a later version has
constexpr std::size_t max_metric_bytes = 60;
// The limit for a page that is drawn quickly: 200 x 200 numbers for each part.
constexpr std::size_t max_confusion_bytes = std::size_t{1} << 20;
constexpr std::size_t max_classes = 200;
constexpr std::size_t max_targets = 200;  // a run writes no more

bool is_count(const ordered_json& value) {
  return value.is_number_unsigned();
}

bool is_confusion(const ordered_json& document) {
  const std::size_t classes = size_of_member(document, "classes");
  const Requirement matrix = list_of(list_of(is_count, classes, classes), classes, classes);
  return has_members(
      document, {{"classes", list_of(is_text, 1, max_classes)}, {"parts", map_of(matrix, max_metric_parts)}});
}

bool are_targets(const ordered_json& document) {
  const std::size_t targets = size_of_member(document, "targets");
  const Requirement row = list_of(is_number_or_null, targets, targets);
  return has_members(
      document, {{"targets", list_of(is_text, 1, max_targets)}, {"parts", map_of(row, max_metric_parts)}});
}

/// Reads these members of a file, and its step.
ordered_json members_of(const std::string& folder, const DocumentFile& file, const char* names,
                        const Requirement& is_sound, ordered_json& notes) {
  const ordered_json document = read_document(folder, file, is_sound, notes);
  if (document.is_null()) return nullptr;
  return {
      {"step", number_member(document, "step", 0)}, {names, document[names]}, {"parts", document["parts"]}};
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
  return members_of(folder, {"confusion.json", "confusion matrix", max_confusion_bytes}, "classes",
                    is_confusion, notes);
}

ordered_json targets_of(const std::string& folder, ordered_json& notes) {
  return members_of(folder, {"targets.json", "R2 of targets", max_confusion_bytes}, "targets", are_targets,
                    notes);
}

}  // namespace mylos::app
