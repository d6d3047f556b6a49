#include <algorithm>

#include "run_folder.hpp"
#include "run_parts.hpp"

namespace mylos::app {
namespace {

constexpr KnownDocument known_uncertainty{"uncertainty.json", "mylos-uncertainty", 1, std::size_t{1} << 20};
constexpr std::size_t max_coverages = 1000;

bool is_fraction(const ordered_json& value) {
  return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
}

bool is_uncertainty(const ordered_json& document) {
  const Requirement pair = list_of(is_fraction, 2, 2);
  return has_members(document, {{"coverage", list_of(pair, 1, max_coverages)}});
}

}  // namespace

ordered_json uncertainty_of(const std::string& folder, ordered_json& notes) {
  const ordered_json document = read_object(folder, known_uncertainty, notes);
  if (!document.is_object()) return nullptr;
  if (!is_uncertainty(document)) {
    notes.push_back("uncertainty.json: has no coverages: left out");
    return nullptr;
  }
  ordered_json found{{"split", text_member(document, "split").substr(0, max_shown_bytes)}};
  for (const char* name :
       {"step", "samples", "calibration_error", "miscalibration_area", "sharpness", "crps"})
    if (document.contains(name) && document[name].is_number())
      found[name] = short_number(document[name].get<double>());
  ordered_json coverage = document["coverage"];
  std::sort(coverage.begin(), coverage.end(), [](const ordered_json& one, const ordered_json& other) {
    return one[0].get<double>() < other[0].get<double>();
  });
  found["coverage"] = std::move(coverage);
  return found;
}

}  // namespace mylos::app
