// mylos eval CKPT [--best] [--average] [--data FILE] [--split test|train|validation] [--metrics a,b]
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "commands/data_split.hpp"
#include "commands/trained_model.hpp"
#include "commands/uncertain_model.hpp"
#include "launch/standard_output.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/inference/uncertainty/judged_rows.hpp"
#include "mylos/inference/uncertainty/uncertainty_measures.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/evaluation/uncertainty_file.hpp"
#include "tables/measure_lines.hpp"
#include "tables/uncertainty_report.hpp"

namespace mylos::app {
namespace {

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
  require_no_more_words(arguments.members);
  if (arguments.members.any()) return evaluate_members(arguments);
  const DataPart part = part_of(DataSplit{arguments.split, arguments.data});
  const auto choose = [&](DataOptions& data) {
    choose_split(data, {arguments.split, arguments.data}, arguments.checkpoint.path);
  };
  const auto trained = open_trained_model(arguments.checkpoint, {.choose = choose});
  const TrainedNetwork& network = trained->network;
  require_part(*network.data, part);
  const std::vector<Measure> measures = measures_of(arguments.metrics);
  run_on_all(trained->communicator->ranks(),
             [&] { require_measured(network.path, measures, trained->model->chain()); });
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
