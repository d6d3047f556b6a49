// mylos eval CKPT [--best] [--average] [--data FILE] [--split test|train|validation] [--metrics a,b]
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "commands/data_split.hpp"
#include "commands/trained_model.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/inference/uncertainty/judged_rows.hpp"
#include "mylos/inference/uncertainty/uncertainty_measures.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/evaluation/uncertainty_file.hpp"
#include "tables/uncertainty_report.hpp"

namespace mylos::app {
namespace {

/// Returns the measures by the names of the command line option.
std::vector<Measure> measures_of(const std::vector<std::string>& names) {
  std::vector<Measure> measures;
  for (const Measure measure : all_measures) {
    if (std::find(names.begin(), names.end(), name_of(measure)) != names.end()) measures.push_back(measure);
  }
  return measures;
}

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

/// Prints the measures in the order of the command line.
void print_measures(const Output& output, const std::vector<std::string>& wanted,
                    const Evaluation& evaluation, const TrainedNetwork& trained) {
  for (const std::string& name : wanted) {
    if (name == name_of(Measure::top5)) print_classes(output, *evaluation.classes);
    if (name == name_of(Measure::confusion))
      print_confusion(output, *evaluation.classes, trained.class_names);
    if (name == name_of(Measure::relative_l2))
      output.line(fmt::format("relative L2 {:.6g}", *evaluation.relative_l2));
    if (name == name_of(Measure::relative_h1))
      output.line(fmt::format("relative H1 {:.6g}", *evaluation.relative_h1));
    if (name == name_of(Measure::crps)) output.line(fmt::format("CRPS {:.6g}", *evaluation.crps));
    if (name == name_of(Measure::r2)) print_r2(output, *evaluation.targets, trained.target_names);
  }
}

/// What the network states of its own errors, compared with them; nothing of networks that state none.
class StatedUncertainty {
 public:
  explicit StatedUncertainty(const TrainedModel& trained)
      : trained_(trained), shape_(target_shape(trained.model->chain())) {
    if (!shape_.has_deviations && !trained.network.calibration) return;
    measures_.emplace(shape_.has_deviations, trained.network.calibration);
    floats_ =
        Arena("outputs as floats", float_output_bytes(trained.model->chain(), trained.model->samples()));
  }

  /// After the network has run on the batch.
  void add(const StepContext& step, const Batch& batch) {
    if (!measures_) return;
    const std::int64_t outputs = trained_.model->chain().outputs();
    copy_outputs(step, trained_.model->passes(), floats_.tensor(0, DType::fp32, batch.samples, outputs),
                 outputs_);
    const auto numbers = static_cast<std::size_t>(batch.samples * shape_.row());
    if (shape_.has_deviations) {
      deviations_.resize(numbers);
      copy_deviations(step, trained_.model->passes(), batch.samples, deviations_);
    }
    measures_->add(judge_rows(shape_, trained_.network.normalizer.targets, outputs_, deviations_,
                              {batch.targets, numbers}));
  }

  /// All ranks. Returns the result over all of their samples.
  [[nodiscard]] UncertaintyResult result() {
    if (!measures_) return {};
    measures_->add_up(trained_.communicator->ranks());
    return measures_->result();
  }

 private:
  const TrainedModel& trained_;
  TargetShape shape_;
  std::optional<UncertaintyMeasures> measures_;
  Arena floats_;
  std::vector<float> outputs_, deviations_;
};

/// Leaves the result in the run's folder, for its report, where the command line names a folder. The
/// evaluation does not depend on it.
void keep(const UncertaintyResult& result, const TrainedNetwork& network,
          const EvaluateArguments& arguments) {
  std::error_code failure;
  const std::string& run = arguments.checkpoint.path;
  if (!std::filesystem::is_directory(run, failure)) return;
  const std::string path = run_folder(run) + "/uncertainty.json";
  try {
    write_uncertainty_file(path, network.step, arguments.data.empty() ? arguments.split : arguments.data,
                           result);
  } catch (const Error& error) {
    print_error(fmt::format("mylos: {}; the report of the run will lack it", error.message()));
  }
}

}  // namespace

ExitCode evaluate_command(const EvaluateArguments& arguments) {
  const DataPart part = part_of(DataSplit{arguments.split, arguments.data});
  const auto choose = [&](DataOptions& data) {
    choose_split(data, {arguments.split, arguments.data}, arguments.checkpoint.path);
  };
  const auto trained = open_trained_model(arguments.checkpoint, {.choose = choose});
  const TrainedNetwork& network = trained->network;
  require_part(*network.data, part);
  const std::vector<Measure> measures = measures_of(arguments.metrics);
  run_on_all(trained->communicator->ranks(), [&] {
    const Chain& chain = trained->model->chain();
    for (const Measure measure : measures) {
      const std::string why = why_not_measured(measure, chain.loss(), judged_by(chain) == Judged::tokens);
      if (!why.empty())
        fail_input(ErrorId::not_measured, "{}: has no {}: {}", network.path, name_of(measure), why);
    }
  });
  const auto pass = trained->pass_over(part);
  const InferenceContext context = trained->context();
  Communicator& communicator = *trained->communicator;
  StatedUncertainty uncertainty(*trained);
  const ObserveBatch observe = [&](const StepContext& step, const Batch& batch) {
    uncertainty.add(step, batch);
  };
  Evaluation result = evaluate(Quiesced::without_trainer(communicator, context.exec), context, communicator,
                               *pass, measures, observe, network.normalizer.targets);
  const UncertaintyResult sure = uncertainty.result();
  const std::string outside = describe_outside(trained->communicator->ranks(), network, *pass, part);
  const Output output = standard_output(trained->communicator->rank());
  const std::string summary =
      describe(Evaluation{.judged = result.judged,
                          .count = result.count,
                          .loss = result.loss,
                          .accuracy = result.accuracy});  // measures have lines of their own
  for (const std::string& note : network.notes) output.line(note);
  output.line(fmt::format("{} at step {}{} on {}: {}", network.path, network.step,
                          arguments.checkpoint.average ? ", average of weights," : "", network.data->path(),
                          summary));
  if (!outside.empty()) output.line(outside);
  print_measures(output, arguments.metrics, result, network);
  for (const std::string& line : uncertainty_lines(sure, network.target_names)) output.line(line);
  if (communicator.rank() == 0 && sure.deviations) keep(sure, network, arguments);
  return ExitCode::done;
}

}  // namespace mylos::app
