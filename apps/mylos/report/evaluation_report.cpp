#include "evaluation_report.hpp"

#include <array>
#include <limits>
#include <map>

#include "curves_json.hpp"
#include "run_folder.hpp"
#include "run_table.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t most_parts = 8;  // training, validation, test, and what a later version has
constexpr std::size_t most_name_bytes = 60;

}  // namespace

ordered_json evaluations_of(const std::string& folder, bool runs_on, std::size_t most_points,
                            ordered_json& notes) {
  std::map<std::string, StepCurves, std::less<>> parts;
  const std::vector<std::string> names{"loss", "accuracy"};
  CsvRows rows({"step", "part", "loss", "accuracy"}, [&](CsvRows::Row row) {
    const auto step = step_of(row[0]);
    const auto loss = number_or_nothing(row[2]);
    const auto accuracy = number_or_nothing(row[3]);
    if (!step || !loss || !accuracy || row[1].empty() || row[1].size() > most_name_bytes) return false;
    auto part = parts.find(row[1]);
    if (part == parts.end()) {
      if (parts.size() == most_parts) return false;
      part = parts.emplace(row[1], StepCurves(names.size(), most_points)).first;
    }
    part->second.add(*step, std::array{*loss, *accuracy});
    return true;
  });
  if (!read_table(folder, "evaluations.csv", rows, runs_on, notes)) return nullptr;
  ordered_json document = ordered_json::object();
  for (const auto& [name, curves] : parts) document[name] = json_of(curves, names);
  return document;
}

}  // namespace mylos::app
