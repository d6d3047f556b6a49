// mylos eval --ensemble CKPT CKPT ..., and mylos eval --mc-dropout N CKPT: the loss and the measures of the
// mean of several predictions, and how well their standard deviation holds.
#include <fmt/format.h>

#include "commands.hpp"
#include "commands/data_split.hpp"
#include "commands/stated_uncertainty.hpp"
#include "commands/uncertain_model.hpp"
#include "launch/standard_output.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/ensemble/ensemble_calibration.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/train/evaluation/mean_evaluation.hpp"
#include "tables/measure_lines.hpp"
#include "tables/uncertainty_report.hpp"

namespace mylos::app {

ExitCode evaluate_members(const EvaluateArguments& arguments) {
  const DataSplit split{arguments.split, arguments.data};
  const DataPart part = part_of(split);
  const UncertainModel model = open_uncertain_model(
      arguments.checkpoint, arguments.members.more, arguments.members,
      {.choose = [&](DataOptions& data) { choose_split(data, split, arguments.checkpoint.path); },
       .check = [&](const OpenedNetwork& opened) { require_part(*opened.data, part); }},
      part);
  const OpenModel& open = *model.open;
  const StoredNetwork& network = open.network();
  Communicator& communicator = *open.communicator;
  const std::vector<Measure> measures = measures_of(arguments.metrics);
  run_on_all(communicator.ranks(), [&] {
    require_measured(network.path, measures, network.chain);
    if (arguments.variables) require_variables(network.path, network.chain);
  });
  TargetShape shape = target_shape(network.chain);
  shape.has_deviations = is_of_numbers(network.chain.prediction());
  const auto calibration =
      read_ensemble_calibration(communicator.ranks(), model.members, Calibrated::ensemble_predictions).found;
  run_on_all(communicator.ranks(), [&] {
    if (calibration) require_calibration_fits(*calibration, target_shape(network.chain), model.name);
  });
  StatedUncertainty uncertainty(shape, network, calibration, network.training.normalizer.targets);
  if (arguments.variables) uncertainty.measure_errors();
  const auto observe = [&](const UncertainBatch& batch) {
    if (uncertainty.any()) uncertainty.add(batch.mean, batch.deviation, batch.targets);
  };
  const Evaluation result = evaluate_mean(
      Quiesced::without_trainer(communicator, *open.execution), *open.execution, *open.engines, communicator,
      network.options, *model.pass, measures, network.training.normalizer.targets, observe);
  const UncertaintyResult sure = uncertainty.result(communicator.ranks());
  const std::string outside =
      describe_outside(communicator.ranks(), open.opened, model.pass->outside_range(), part);
  const Output output = standard_output(communicator.rank());
  for (const std::string& note : open.opened.notes) output.line(note);
  output.line(fmt::format(
      "{}{} on {}: mean: {}", model.name, arguments.checkpoint.average ? ", averages of weights," : "",
      open.opened.data->path(),
      describe(Evaluation{
          .kind = result.kind, .count = result.count, .loss = result.loss, .accuracy = result.accuracy})));
  if (!outside.empty()) output.line(outside);
  print_measures(output, arguments.metrics, result, network);
  print_errors(output, uncertainty.errors(), network);
  for (const std::string& line : uncertainty_lines(sure, network.samples.target_names)) output.line(line);
  return ExitCode::done;
}

}  // namespace mylos::app
