#include "run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
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
constexpr double max_side = 512;  // points of a picture

bool is_count(const ordered_json& document, const char* key) {
  const double value = number_member(document, key, -1);
  return value >= 1 && value <= max_side && value == static_cast<double>(static_cast<std::int64_t>(value));
}

bool are_numbers(const ordered_json& list, std::size_t max) {
  return list.is_array() && list.size() <= max &&
         std::all_of(list.begin(), list.end(),
                     [](const ordered_json& one) { return one.is_number() || one.is_null(); });
}

/// A plane is coded in base 64, a line is a list of numbers.
bool is_field(const ordered_json& picture, const char* key, double rows, double columns) {
  if (!picture.contains(key)) return false;
  const ordered_json& field = picture[key];
  const auto points = static_cast<std::size_t>(rows * columns);
  if (rows == 1) return are_numbers(field, points) && field.size() == points;
  return field.is_string() && field.get_ref<const std::string&>().size() == (points + 2) / 3 * 4;
}

bool is_picture(const ordered_json& picture) {
  if (!picture.is_object() || !is_count(picture, "rows") || !is_count(picture, "columns")) return false;
  const double rows = number_member(picture, "rows", 0);
  const double columns = number_member(picture, "columns", 0);
  for (const char* key : {"low", "high", "span", "every"})
    if (!picture.contains(key) || !picture[key].is_number()) return false;
  for (const char* key : {"title", "channel"})
    if (!picture.contains(key) || !picture[key].is_string()) return false;
  return is_field(picture, "truth", rows, columns) && is_field(picture, "predicted", rows, columns) &&
         (rows == 1 || is_field(picture, "difference", rows, columns));
}

bool are_pictures(const ordered_json& pictures) {
  return pictures.is_array() && pictures.size() <= max_pictures &&
         std::all_of(pictures.begin(), pictures.end(), is_picture);
}

bool are_samples(const ordered_json& document) {
  if (!document.is_object() || !document.contains("parts")) return false;
  const ordered_json& parts = document["parts"];
  return parts.is_object() && parts.size() <= max_parts &&
         std::all_of(parts.begin(), parts.end(), are_pictures);
}

bool are_errors(const ordered_json& errors) {
  if (!errors.is_object() || !errors.contains("step") || errors.size() > 20) return false;
  const ordered_json& steps = errors["step"];
  if (!are_numbers(steps, max_steps)) return false;
  return std::all_of(errors.begin(), errors.end(), [&](const ordered_json& column) {
    return are_numbers(column, max_steps) && column.size() == steps.size();
  });
}

bool is_spectrum(const ordered_json& spectrum) {
  if (spectrum.is_null()) return true;
  if (!spectrum.is_object() || !spectrum.contains("wavenumber") || !spectrum.contains("steps")) return false;
  const ordered_json& steps = spectrum["steps"];
  if (!are_numbers(spectrum["wavenumber"], max_steps) || !are_numbers(steps, max_spectra)) return false;
  for (const char* key : {"network", "truth", "error"}) {
    if (!spectrum.contains(key)) return false;
    const ordered_json& lines = spectrum[key];
    if (!lines.is_array() || lines.size() != steps.size()) return false;
    for (const ordered_json& line : lines)
      if (!are_numbers(line, max_steps) || (!line.empty() && line.size() != spectrum["wavenumber"].size()))
        return false;
  }
  return true;
}

bool is_rollout(const ordered_json& document) {
  return document.is_object() && document.contains("errors") && are_errors(document["errors"]) &&
         document.contains("spectrum") && is_spectrum(document["spectrum"]) &&
         document.contains("pictures") && are_pictures(document["pictures"]) &&
         document.contains("members") && document["members"].is_array() &&
         document["members"].size() <= max_members;
}

/// Reads a file; nothing if there is none, or if it is not `is_sound`.
ordered_json document_of(const std::string& folder, const std::string& name,
                         bool (*is_sound)(const ordered_json&), const char* kind, ordered_json& notes) {
  SmallFile file = read_small_file(folder + "/" + name, max_field_bytes);
  if (!file.exists) return nullptr;
  if (file.problem.empty()) {
    ordered_json document = ordered_json::parse(file.text, nullptr, false);
    if (is_sound(document)) return document;
    file.problem = fmt::format("is not whole, or {}", kind);
  }
  notes.push_back(fmt::format("{}: {}: left out", name, file.problem));
  return nullptr;
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
      document_of(folder, "samples.json", are_samples, "no fields of samples", notes);
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
    const ordered_json document = document_of(folder, name, is_rollout, "no rollout", notes);
    if (document.is_null()) continue;
    const std::int64_t first = first_step_not_finite(document["members"]);
    rollouts.push_back({{"name", name},
                        {"step", number_member(document, "step", 0)},
                        {"members", document["members"].size()},
                        {"first_step_not_finite", first == 0 ? ordered_json() : ordered_json(first)},
                        {"errors", document["errors"]},
                        {"spectrum", document["spectrum"]},
                        {"pictures", document["pictures"]}});
  }
  return rollouts;
}

}  // namespace mylos::app
