#include <fmt/format.h>

#include <algorithm>

#include "run_folder.hpp"
#include "run_parts.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_uncertainty_bytes = std::size_t{1} << 20;
constexpr std::size_t max_coverages = 1000;
constexpr std::size_t max_split_bytes = 200;

bool is_fraction(const ordered_json& value) {
  return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
}

bool is_uncertainty(const ordered_json& document) {
  if (!document.is_object() || !document.contains("coverage")) return false;
  const ordered_json& coverage = document["coverage"];
  if (!coverage.is_array() || coverage.empty() || coverage.size() > max_coverages) return false;
  return std::all_of(coverage.begin(), coverage.end(), [](const ordered_json& pair) {
    return pair.is_array() && pair.size() == 2 && is_fraction(pair[0]) && is_fraction(pair[1]);
  });
}

}  // namespace

ordered_json uncertainty_of(const std::string& folder, ordered_json& notes) {
  SmallFile file = read_small_file(folder + "/uncertainty.json", max_uncertainty_bytes);
  if (!file.exists) return nullptr;
  if (file.problem.empty()) {
    const ordered_json document = ordered_json::parse(file.text, nullptr, false);
    if (is_uncertainty(document)) {
      ordered_json found{{"split", text_member(document, "split").substr(0, max_split_bytes)}};
      for (const char* name : {"step", "samples", "calibration_error", "sharpness", "crps"})
        if (document.contains(name) && document[name].is_number())
          found[name] = short_number(document[name].get<double>());
      ordered_json coverage = document["coverage"];
      std::sort(coverage.begin(), coverage.end(), [](const ordered_json& one, const ordered_json& other) {
        return one[0].get<double>() < other[0].get<double>();
      });
      found["coverage"] = std::move(coverage);
      return found;
    }
    file.problem = "is not whole, or no coverages";
  }
  notes.push_back(fmt::format("uncertainty.json: {}: left out", file.problem));
  return nullptr;
}

}  // namespace mylos::app
