#include "mylos/train/evaluation/field_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

using nlohmann::ordered_json;

ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

template <class Values>
ordered_json numbers(const Values& values) {
  ordered_json list = ordered_json::array();
  for (const auto value : values) list.push_back(number(static_cast<double>(value)));
  return list;
}

std::string codes(std::span<const float> values, double low, double high) {
  return base64(picture_codes(values, low, high));
}

ordered_json json_of(const FieldPicture& picture) {
  ordered_json json{{"title", picture.title},
                    {"channel", picture.channel},
                    {"rows", picture.rows},
                    {"columns", picture.columns},
                    {"every", picture.every}};
  if (picture.upward) json["upward"] = true;
  if (picture.plane >= 0) json["plane"] = picture.plane;
  json["low"] = picture.low;
  json["high"] = picture.high;
  json["span"] = picture.span;
  if (picture.rows == 1) {
    json["truth"] = numbers(picture.truth);
    json["predicted"] = numbers(picture.predicted);
    return json;
  }
  std::vector<float> difference(picture.truth.size());
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = picture.predicted[i] - picture.truth[i];
  json["truth"] = codes(picture.truth, picture.low, picture.high);
  json["predicted"] = codes(picture.predicted, picture.low, picture.high);
  json["difference"] = codes(difference, -picture.span, picture.span);
  return json;
}

ordered_json json_of(std::span<const FieldPicture> pictures) {
  ordered_json list = ordered_json::array();
  for (const FieldPicture& picture : pictures) list.push_back(json_of(picture));
  return list;
}

/// Names come from users' files, whose bytes need not be UTF-8.
void publish_json(const std::string& path, const ordered_json& document) {
  publish_text(path, document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n');
}

/// A column of the errors of all steps.
struct ErrorColumn {
  const char* name;
  double (*value)(const MemberStep& mean);
};

constexpr ErrorColumn error_columns[] = {
    {"relative_l2", [](const MemberStep& mean) { return mean.network.relative_l2; }},
    {"nrmse", [](const MemberStep& mean) { return mean.network.nrmse; }},
    {"correlation", [](const MemberStep& mean) { return mean.network.correlation; }},
    {"persistence_relative_l2", [](const MemberStep& mean) { return mean.persistence.relative_l2; }},
    {"persistence_nrmse", [](const MemberStep& mean) { return mean.persistence.nrmse; }},
    {"persistence_correlation", [](const MemberStep& mean) { return mean.persistence.correlation; }},
    {"energy", [](const MemberStep& mean) { return mean.energy; }},
    {"energy_drift", [](const MemberStep& mean) { return mean.energy_drift; }},
    {"truth_energy", [](const MemberStep& mean) { return mean.truth_energy; }},
};

/// Returns the number of members whose state is not finite after this step.
std::int64_t members_not_finite(const RolloutResult& result, std::int64_t step) {
  std::int64_t count = 0;
  for (std::int64_t member = 0; member < result.members; ++member)
    count += std::isfinite(result.at(member, step).energy) ? 0 : 1;
  return count;
}

/// Returns at most `count` of the numbers 0 ... last, evenly apart.
std::vector<std::int64_t> some_steps(std::int64_t last, std::int64_t count) {
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step = last * i / (count - 1);
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }
  return steps;
}

ordered_json json_of_errors(const RolloutResult& result) {
  std::vector<MemberStep> means;
  ordered_json steps = ordered_json::array();
  for (std::int64_t step = 1; step <= result.steps; ++step) {
    means.push_back(result.mean(step));
    steps.push_back(step);
  }
  ordered_json errors{{"step", steps}};
  for (const ErrorColumn& column : error_columns) {
    ordered_json values = ordered_json::array();
    for (const MemberStep& mean : means) values.push_back(number(column.value(mean)));
    errors[column.name] = std::move(values);
  }
  return errors;
}

ordered_json json_of_spectrum(const RolloutResult& result) {
  if (result.spectrum.empty()) return nullptr;
  constexpr std::int64_t max_spectra = 5;
  ordered_json wavenumbers = ordered_json::array();
  const std::size_t count = result.spectrum.back().over_channels(&StepSpectrum::network).size();
  for (std::size_t k = 0; k < count; ++k) wavenumbers.push_back(k);
  ordered_json json{{"wavenumber", wavenumbers},
                    {"steps", ordered_json::array()},
                    {"network", ordered_json::array()},
                    {"truth", ordered_json::array()},
                    {"error", ordered_json::array()}};
  for (const std::int64_t step : some_steps(result.steps, max_spectra)) {
    const StepSpectrum& spectrum = result.spectrum[static_cast<std::size_t>(step)];
    json["steps"].push_back(step);
    json["network"].push_back(numbers(spectrum.over_channels(&StepSpectrum::network)));
    json["truth"].push_back(numbers(spectrum.over_channels(&StepSpectrum::truth)));
    json["error"].push_back(numbers(spectrum.over_channels(&StepSpectrum::error)));
  }
  return json;
}

/// Returns the measures of the first variables, at some of the steps.
ordered_json json_of_variables(const StepScores& scores, const ScoreAxes& axes) {
  if (axes.levels.empty()) return nullptr;
  constexpr std::int64_t max_levels = 400;
  constexpr std::int64_t max_variables = 12;
  const std::vector<std::int64_t> places = some_steps(std::ssize(axes.levels) - 1, max_levels);
  const std::int64_t count = std::min(scores.channels, max_variables);
  ordered_json json{{"names", ordered_json::array()},
                    {"units", ordered_json::array()},
                    {"levels", ordered_json::array()},
                    {"measures", ordered_json::object()}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    json["names"].push_back(axes.variables[i]);
    json["units"].push_back(axes.units[i]);
  }
  for (const std::int64_t place : places)
    json["levels"].push_back(axes.levels[static_cast<std::size_t>(place)]);
  if (scores.coverage > 0) json["coverage"] = scores.coverage;
  for (const ScoreTable& table : score_tables(scores)) {
    ordered_json& measure = json["measures"][table.name] = ordered_json::array();
    for (std::int64_t variable = 0; variable < count; ++variable) {
      std::vector<double> values;
      for (const std::int64_t place : places)
        values.push_back(table.values[static_cast<std::size_t>(place * scores.channels + variable)]);
      measure.push_back(numbers(values));
    }
  }
  return json;
}

}  // namespace

void write_picture_file(const std::string& path, std::int64_t step,
                        std::span<const std::pair<DataPart, std::vector<FieldPicture>>> parts) {
  ordered_json document{{"format", "mylos-samples"}, {"version", 1}, {"step", step}};
  for (const auto& [part, pictures] : parts) document["parts"][name_of(part)] = json_of(pictures);
  publish_json(path, document);
}

void write_rollout_file(const std::string& path, const RolloutDocument& given) {
  const RolloutResult& result = *given.result;
  ordered_json members = ordered_json::array();
  for (std::int64_t member = 0; member < result.members; ++member) {
    const std::int64_t first = result.first_not_finite(member);
    members.push_back({{"name", given.members[static_cast<std::size_t>(member)]},
                       {"first_step_not_finite", first == 0 ? ordered_json() : ordered_json(first)}});
  }
  ordered_json document{{"format", "mylos-rollout"},
                        {"version", 1},
                        {"network", given.network},
                        {"step", given.step},
                        {"start", given.start},
                        {"truth", given.truth.empty() ? ordered_json() : ordered_json(given.truth)},
                        {"steps", result.steps},
                        {"members", members}};
  document["mean_nrmse"] = number(result.mean_nrmse());
  document["errors"] = json_of_errors(result);
  document["spectrum"] = json_of_spectrum(result);
  document["variables"] = json_of_variables(result.scores, given.axes);
  document["pictures"] = json_of(given.pictures);
  publish_json(path, document);
}

std::string error_table(const RolloutResult& result) {
  std::string text = "step";
  for (const ErrorColumn& column : error_columns) text += fmt::format(",{}", column.name);
  text += ",members_not_finite\n";
  for (std::int64_t step = 1; step <= result.steps; ++step) {
    const MemberStep mean = result.mean(step);
    fmt::format_to(std::back_inserter(text), "{}", step);
    for (const ErrorColumn& column : error_columns) {
      const double value = column.value(mean);
      // NaN is what is not known or not finite; the last column counts the latter.
      text += std::isnan(value) ? std::string(",") : fmt::format(",{:.9g}", value);
    }
    fmt::format_to(std::back_inserter(text), ",{}\n", members_not_finite(result, step));
  }
  return text;
}

std::string spectrum_table(const RolloutResult& result) {
  std::string text = "step,wavenumber,network,truth,error\n";
  for (std::size_t step = 0; step < result.spectrum.size(); ++step) {
    const std::vector<double> network = result.spectrum[step].over_channels(&StepSpectrum::network);
    const std::vector<double> truth = result.spectrum[step].over_channels(&StepSpectrum::truth);
    const std::vector<double> error = result.spectrum[step].over_channels(&StepSpectrum::error);
    for (std::size_t k = 0; k < network.size(); ++k) {
      fmt::format_to(std::back_inserter(text), "{},{},{:.9g},", step, k, network[k]);
      if (truth.empty()) {
        text += ",\n";
      } else {
        fmt::format_to(std::back_inserter(text), "{:.9g},{:.9g}\n", truth[k], error[k]);
      }
    }
  }
  return text;
}

}  // namespace mylos
