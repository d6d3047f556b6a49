// mylos predict CKPT IN OUT: writes outputs [samples, outputs]: targets in their own units, or the
// probabilities of cross-entropies. Outputs that are inf or NaN are an error, and nothing is written, unless
// the user allows them. Of arrays as they lie in a file the outputs are written in its layout.
#include <optional>

#include "commands.hpp"
#include "commands/prediction_writer.hpp"
#include "commands/trained_model.hpp"
#include "commands/uncertain_model.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/inference/trained_samples.hpp"

namespace mylos::app {
namespace {

PredictionParts parts_of(const TrainedModel& trained) {
  PredictionParts parts{.has_deviation = trained.model->chain().has_deviations(), .coverage = {}};
  if (trained.network.calibration) parts.coverage = trained.network.calibration->coverage;
  return parts;
}

}  // namespace

ExitCode predict_command(const PredictArguments& arguments) {
  require_no_more_words(arguments.members);
  if (arguments.members.any()) return predict_members(arguments);
  const auto trained = open_trained_model(
      arguments.checkpoint,
      {.choose = [&](DataOptions& data) { choose_whole_file(data, arguments.input); },
       .check = [&](const TrainedNetwork& opened) { require_predictable(opened, arguments); },
       .answers = Answers::optional});
  RankGroup& ranks = trained->communicator->ranks();
  const TrainedNetwork& network = trained->network;
  const Chain& chain = trained->model->chain();
  const PredictedNetwork predicted{.network = network,
                                   .chain = chain,
                                   .checkpoint = network.path,
                                   .parts = parts_of(*trained),
                                   .calibration = network.calibration ? &*network.calibration : nullptr};
  std::optional<PredictionWriter> writer;
  // Not by run_on_first: an HDF5 library for MPI may make MPI calls.
  run_on_all(ranks, [&] {
    if (ranks.rank() == 0) writer.emplace(predicted, arguments.output);
  });
  const auto pass = trained->pass_over(DataPart::train);
  predict_distributions(trained->context(), ranks, *pass,
                        [&](const Share& samples, std::span<float> values, std::span<float> deviations) {
                          interpret_outputs(chain.prediction(), chain.outputs(), Normalizer{}, values);
                          writer->write(samples, values, deviations);
                        });
  finish_predictions(ranks, predicted, writer ? &*writer : nullptr, arguments, "outputs",
                     describe_outside(ranks, network, *pass, DataPart::train));
  return ExitCode::done;
}

}  // namespace mylos::app
