// mylos eval CKPT [--best] [--average] [--data FILE] [--split test|train|validation] [--metrics a,b]
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "commands/data_split.hpp"
#include "commands/open_model.hpp"
#include "commands/stated_uncertainty.hpp"
#include "commands/uncertain_model.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/evaluation/measures/measures_of_parts.hpp"
#include "tables/measure_lines.hpp"

namespace mylos::app {
namespace {

/// Throws Error (bad_input) where a measure is not the mean of those of the boxes of samples.
void require_measured_in_boxes(const MeshOptions& mesh, const std::vector<Measure>& measures) {
  for (const Measure measure : measures) {
    const std::string_view why = why_not_of_boxes(measure);
    if (why.empty()) continue;
    fail_input(errors::not_measured,
               "{}: --metrics {} is not measured of samples that ranks share: {}; leave one of them out",
               text_of_space(mesh), name_of(measure), why);
  }
}

}  // namespace

ExitCode evaluate_command(const EvaluateArguments& arguments) {
  require_no_more_words(arguments.members);
  require_single(arguments.mesh, arguments.members);
  if (arguments.members.any()) return evaluate_members(arguments);
  const DataPart part = part_of(DataSplit{arguments.split, arguments.data});
  const auto choose = [&](DataOptions& data) {
    choose_split(data, {arguments.split, arguments.data}, arguments.checkpoint.path);
  };
  const auto open = open_model(arguments.checkpoint, {.choose = choose, .mesh = arguments.mesh});
  const StoredNetwork& network = open->network();
  const std::optional<DividedNetwork>& divided = open->opened.divided;
  const Chain& chain = open->opened.chain();
  const Normalizer normalizer =
      divided ? normalizer_of(network, divided->mesh.part()) : network.training.normalizer;
  const bool has_boxes = divided && !gives_vector(network);  // of outputs
  require_part(*open->opened.data, part);
  const std::vector<Measure> measures = measures_of(arguments.metrics);
  Communicator& communicator = *open->communicator;
  RankGroup& ranks = communicator.ranks();
  run_on_all(ranks, [&] {
    require_measured(network.path, measures, chain);
    if (has_boxes) require_measured_in_boxes(arguments.mesh, measures);
    if (arguments.variables) require_variables(network.path, chain);
  });
  std::unique_ptr<EvaluationPass> pass;
  run_on_all(ranks, [&] { pass = open->pass_over(part); });
  const InferenceContext context = open->context();
  // An interval holds all points of a channel at once, of which every rank has others.
  const bool has_intervals = network.calibration && !has_boxes;
  StatedUncertainty uncertainty(target_shape(chain), network,
                                has_intervals ? network.calibration : std::nullopt, normalizer.targets);
  if (arguments.variables) uncertainty.measure_errors();
  const std::int64_t outputs = chain.outputs();
  const Arena floats("outputs as floats",
                     uncertainty.any() ? float_output_bytes(chain, open->model->samples()) : 0);
  std::vector<float> means, deviations, quantiles;
  const auto observe = [&](const StepContext& step, const Batch& batch) {
    if (!pass->counts()) return;
    copy_outputs(step, context.model, floats.tensor(0, DType::fp32, batch.samples, outputs), means);
    const auto numbers = static_cast<std::size_t>(batch.samples * outputs);
    if (uncertainty.shape().has_deviations) {
      deviations.resize(numbers);
      copy_deviations(step, context.model, batch.samples, deviations);
    }
    quantiles.resize(numbers * chain.quantiles().size());
    copy_quantiles(step, context.model, batch.samples, quantiles);
    uncertainty.add(means, deviations, {batch.targets, numbers}, quantiles);
  };
  Evaluation result =
      evaluate(Quiesced::without_trainer(communicator, context.exec), context, communicator, *pass, measures,
               uncertainty.any() ? ObserveBatch(observe) : ObserveBatch(), normalizer.targets);
  const UncertaintyResult sure = uncertainty.result(ranks, has_boxes ? pass->boxes() : 1);
  const std::string outside = describe_outside(ranks, open->opened, *pass, part);
  const Output output = standard_output(communicator.rank());
  const std::string summary =
      describe(Evaluation{.kind = result.kind,
                          .count = result.count,
                          .loss = result.loss,
                          .accuracy = result.accuracy});  // measures have lines of their own
  for (const std::string& note : open->opened.notes) output.line(note);
  output.line(fmt::format("{} at step {}{} on {}: {}", network.path, network.step,
                          arguments.checkpoint.average ? ", average of weights," : "",
                          open->opened.data->path(), summary));
  if (!outside.empty()) output.line(outside);
  if (network.calibration && !has_intervals)
    output.line(
        "without intervals: each holds all points of a channel at once, of which every rank has others");
  print_measures(output, arguments.metrics, result, network);
  print_errors(output, uncertainty.errors(), network);
  report_uncertainty(sure, network, arguments, communicator.rank());
  return ExitCode::done;
}

}  // namespace mylos::app
