#include "tables/measure_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos::app {
namespace {

void print_classes(const Output& output, const ClassMeasures& measures) {
  output.line(fmt::format("top-1 accuracy {:.4f}, top-5 accuracy {:.4f} ({} samples)", measures.accuracy(1),
                          measures.accuracy(5), measures.rows()));
}

void print_confusion(const Output& output, const ClassMeasures& measures, std::vector<std::string> names) {
  for (std::string& name : names) name = printable(name);
  for (auto i = static_cast<std::int64_t>(names.size()); i < measures.classes(); ++i)
    names.push_back(std::to_string(i));
  std::size_t width = std::to_string(measures.rows()).size();
  for (const std::string& name : names) width = std::max(width, name.size());
  output.line("confusion matrix: a row for each label, a column for each class that was predicted");
  std::string line = fmt::format("{:>{}}", "", width);
  for (const std::string& name : names) line += fmt::format(" {:>{}}", name, width);
  output.line(line);
  for (std::int64_t label = 0; label < measures.classes(); ++label) {
    line = fmt::format("{:>{}}", names[static_cast<std::size_t>(label)], width);
    for (std::int64_t predicted = 0; predicted < measures.classes(); ++predicted)
      line += fmt::format(" {:>{}}", measures.confused(label, predicted), width);
    output.line(line);
  }
  if (measures.rows_with_nan() > 0)
    output.line(fmt::format("{} samples with outputs that are NaN are in no cell", measures.rows_with_nan()));
}

std::string mean_of_r2(const TargetMeasures& measures) {
  const std::int64_t all = measures.targets();
  const std::int64_t constant = measures.constant_targets();
  if (constant == all || measures.not_finite() > 0) return describe_r2(measures);
  return fmt::format("R2 {:.6g}, the mean of {} of {} targets{}", measures.mean_r2(), all - constant, all,
                     constant == 0 ? "" : "; constant ones, which have none, are left out");
}

void print_r2(const Output& output, const TargetMeasures& measures, const std::vector<std::string>& names) {
  output.line(mean_of_r2(measures));
  constexpr std::int64_t max_listed = 20;
  if (measures.targets() == 1 || measures.targets() > max_listed) return;
  const std::vector<double> of_targets = measures.r2();
  const bool has_names = names.size() == of_targets.size();
  for (std::int64_t i = 0; i < measures.targets(); ++i) {
    const auto target = static_cast<std::size_t>(i);
    const std::string name = has_names ? printable(names[target]) : fmt::format("target {}", i);
    output.line(measures.is_constant(i) ? fmt::format("R2 of {}: undefined, it is constant", name)
                                        : fmt::format("R2 of {}: {:.6g}", name, of_targets[target]));
  }
}

}  // namespace

std::vector<Measure> measures_of(const std::vector<std::string>& names) {
  std::vector<Measure> measures;
  for (const Measure measure : all_measures) {
    if (std::find(names.begin(), names.end(), name_of(measure)) != names.end()) measures.push_back(measure);
  }
  return measures;
}

void require_measured(const std::string& path, const std::vector<Measure>& measures, const Chain& chain) {
  for (const Measure measure : measures) {
    const std::string why =
        why_not_measured(measure, chain.loss(), evaluation_kind(chain) == EvaluationKind::tokens);
    if (!why.empty()) fail_input(errors::not_measured, "{}: has no {}: {}", path, name_of(measure), why);
  }
}

void require_variables(const std::string& path, const Chain& chain) {
  if (is_of_numbers(chain.prediction())) return;
  fail_input(errors::not_measured,
             "{}: --variables is of targets that are numbers, which its outputs are not", path);
}

void print_errors(const Output& output, const std::vector<TargetError>& errors,
                  const StoredNetwork& network) {
  const std::vector<std::string>& names = network.samples.target_names;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const std::string name =
        names.size() == errors.size() ? printable(names[i]) : fmt::format("target {}", i);
    output.line(fmt::format("errors of {}: RMSE {:.9g}, MAE {:.9g}, bias {:.9g}", name, errors[i].rmse,
                            errors[i].mae, errors[i].bias));
  }
}

void print_measures(const Output& output, const std::vector<std::string>& wanted,
                    const Evaluation& evaluation, const StoredNetwork& network) {
  for (const std::string& name : wanted) {
    for (const Measure measure : measures_of({name})) {
      switch (measure) {
        case Measure::top5:
          print_classes(output, *evaluation.classes);
          break;
        case Measure::confusion:
          print_confusion(output, *evaluation.classes, network.samples.class_names);
          break;
        case Measure::r2:
          print_r2(output, *evaluation.targets, network.samples.target_names);
          break;
        default:
          output.line(fmt::format("{} {:.6g}", traits_of(measure).label, *evaluation.measured[measure]));
      }
    }
  }
}

}  // namespace mylos::app
