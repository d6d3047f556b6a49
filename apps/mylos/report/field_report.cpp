#include "run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "run_folder.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_field_bytes = std::size_t{4} << 20;
constexpr std::size_t max_rollouts = 4;
constexpr std::size_t max_pictures = 40;
constexpr std::size_t max_parts = 8;
constexpr std::size_t max_steps = 100'000;  // of a rollout, and wavenumbers
constexpr std::size_t max_spectra = 8;
constexpr std::size_t max_members = 100'000;
constexpr std::size_t max_variables = 100;
constexpr std::size_t max_levels = 1'000;
constexpr std::size_t max_measures = 100;
constexpr double max_side = 512;  // points of a picture

/// A number of points.
bool is_side(const ordered_json& value) {
  if (!value.is_number()) return false;
  const auto side = value.get<double>();
  return side >= 1 && side <= max_side && side == std::floor(side);
}

/// A plane is coded in base 64, a line is a list of numbers.
bool is_field(const ordered_json& field, bool is_line, std::size_t points) {
  if (is_line) return list_of(is_number_or_null, points, points)(field);
  return field.is_string() && field.get_ref<const std::string&>().size() == (points + 2) / 3 * 4;
}

bool is_picture(const ordered_json& picture) {
  if (!has_members(picture, {{"rows", is_side}, {"columns", is_side}})) return false;
  const auto rows = picture["rows"].get<std::size_t>();
  const Requirement field = [&](const ordered_json& value) {
    return is_field(value, rows == 1, rows * picture["columns"].get<std::size_t>());
  };
  return has_members(picture, {{"low", is_number},
                               {"high", is_number},
                               {"span", is_number},
                               {"every", is_number},
                               {"title", is_text},
                               {"channel", is_text},
                               {"truth", field},
                               {"predicted", field}}) &&
         (rows == 1 || has_members(picture, {{"difference", field}}));
}

bool are_pictures(const ordered_json& pictures) {
  return list_of(is_picture, 0, max_pictures)(pictures);
}

bool are_samples(const ordered_json& document) {
  return has_members(document, {{"parts", map_of(are_pictures, max_parts)}});
}

bool are_errors(const ordered_json& errors) {
  const std::size_t steps = size_of_member(errors, "step");
  const Requirement column = list_of(is_number_or_null, steps, steps);
  return steps <= max_steps && has_members(errors, {{"step", column}}) && map_of(column, 20)(errors);
}

bool is_spectrum(const ordered_json& spectrum) {
  if (spectrum.is_null()) return true;
  const std::size_t steps = size_of_member(spectrum, "steps");
  const std::size_t wavenumbers = size_of_member(spectrum, "wavenumber");
  const Requirement line = [&](const ordered_json& values) {
    return list_of(is_number_or_null, 0, 0)(values) ||
           list_of(is_number_or_null, wavenumbers, wavenumbers)(values);
  };
  const Requirement lines = list_of(line, steps, steps);
  return has_members(spectrum, {{"wavenumber", list_of(is_number_or_null, 0, max_steps)},
                                {"steps", list_of(is_number_or_null, 0, max_spectra)},
                                {"network", lines},
                                {"truth", lines},
                                {"error", lines}});
}

/// Errors by variable and lead time, which rollouts without a truth, and older files, lack. Those with
/// intervals have the coverage that was asked for.
bool are_variables(const ordered_json& variables) {
  const std::size_t names = size_of_member(variables, "names");
  const std::size_t levels = size_of_member(variables, "levels");
  const Requirement curves = list_of(list_of(is_number_or_null, levels, levels), names, names);
  if (variables.is_object() && variables.contains("coverage") && !variables["coverage"].is_number())
    return false;
  return has_members(variables, {{"names", list_of(is_text, 0, max_variables)},
                                 {"units", list_of(is_text, names, names)},
                                 {"levels", list_of(is_number, 0, max_levels)},
                                 {"measures", map_of(curves, max_measures)}});
}

/// Returns the errors by variable; null in older files.
ordered_json variables_of(const ordered_json& document) {
  const auto found = document.find("variables");
  return found == document.end() ? ordered_json() : *found;
}

bool is_rollout(const ordered_json& document) {
  const auto is_anything = [](const ordered_json&) { return true; };
  return document.is_object() && (variables_of(document).is_null() || are_variables(document["variables"])) &&
         has_members(document, {{"errors", are_errors},
                                {"spectrum", is_spectrum},
                                {"pictures", are_pictures},
                                {"members", list_of(is_anything, 0, max_members)}});
}

/// Returns the steps of the first state that is not finite.
std::int64_t first_step_not_finite(const ordered_json& members) {
  double first = 0;
  for (const ordered_json& member : members) {
    const double step = number_member(member, "first_step_not_finite", 0);
    if (step >= 1 && step <= static_cast<double>(max_steps) && (first == 0 || step < first)) first = step;
  }
  return static_cast<std::int64_t>(first);
}

std::vector<std::string> rollout_files(const std::string& folder) {
  constexpr std::string_view ending = ".rollout.json";
  std::vector<std::string> names;
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(ending)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

ordered_json samples_of(const std::string& folder, ordered_json& notes) {
  const ordered_json document =
      read_document(folder, {"samples.json", "fields of samples", max_field_bytes}, are_samples, notes);
  if (document.is_null()) return nullptr;
  return {{"step", number_member(document, "step", 0)}, {"parts", document["parts"]}};
}

ordered_json rollouts_of(const std::string& folder, ordered_json& notes) {
  ordered_json rollouts = ordered_json::array();
  std::vector<std::string> names = rollout_files(folder);
  if (names.size() > max_rollouts) {
    notes.push_back(
        fmt::format("{} rollouts (*.rollout.json): the first {} are shown", names.size(), max_rollouts));
    names.resize(max_rollouts);
  }
  for (const std::string& name : names) {
    const ordered_json document =
        read_document(folder, {name, "rollout", max_field_bytes}, is_rollout, notes);
    if (document.is_null()) continue;
    const std::int64_t first = first_step_not_finite(document["members"]);
    rollouts.push_back({{"name", name},
                        {"step", number_member(document, "step", 0)},
                        {"members", document["members"].size()},
                        {"first_step_not_finite", first == 0 ? ordered_json() : ordered_json(first)},
                        {"errors", document["errors"]},
                        {"spectrum", document["spectrum"]},
                        {"variables", variables_of(document)},
                        {"pictures", document["pictures"]}});
  }
  return rollouts;
}

}  // namespace mylos::app
