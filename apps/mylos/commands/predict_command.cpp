// mylos predict CKPT IN OUT: writes outputs [samples, outputs]: targets in their own units, or the
// probabilities of cross-entropies. Outputs that are inf or NaN are an error, and nothing is written, unless
// the user allows them. Of arrays as they lie in a file the outputs are written in its layout.
#include <memory>
#include <optional>

#include "commands.hpp"
#include "commands/open_model.hpp"
#include "commands/prediction_writer.hpp"
#include "commands/uncertain_model.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/inference/trained_samples.hpp"

namespace mylos::app {
namespace {

PredictionParts parts_of(const StoredNetwork& network) {
  const std::span<const double> levels = network.chain.quantiles();
  PredictionParts parts{.has_deviation = network.chain.has_deviations(),
                        .coverage = {},
                        .quantiles = {levels.begin(), levels.end()}};
  if (network.calibration) parts.coverage = network.calibration->coverage;
  return parts;
}

}  // namespace

ExitCode predict_command(const PredictArguments& arguments) {
  require_no_more_words(arguments.members);
  require_single(arguments.mesh, arguments.members);
  if (arguments.members.any()) return predict_members(arguments);
  const auto open =
      open_model(arguments.checkpoint,
                 {.choose = [&](DataOptions& data) { choose_whole_file(data, arguments.input); },
                  .check = [&](const OpenedNetwork& opened) { require_predictable(opened, arguments); },
                  .truth = GroundTruth::optional,
                  .mesh = arguments.mesh});
  RankGroup& ranks = open->communicator->ranks();
  const StoredNetwork& network = open->network();
  const Chain& chain = network.chain;
  const PredictedNetwork predicted{.opened = open->opened,
                                   .checkpoint = network.path,
                                   .parts = parts_of(network),
                                   .calibration = network.calibration ? &*network.calibration : nullptr};
  std::optional<PredictionWriter> writer;
  // Not by run_on_first: an HDF5 library for MPI may make MPI calls.
  run_on_all(ranks, [&] {
    if (ranks.rank() == 0) writer.emplace(predicted, arguments.output);
  });
  std::unique_ptr<EvaluationPass> pass;
  run_on_all(ranks, [&] { pass = open->pass_over(DataPart::train); });
  predict_distributions(
      open->context(), ranks, *pass,
      [&](const ComputedSamples& samples, std::span<float> values, const StatedOutputs& stated) {
        interpret_outputs(chain.prediction(), chain.outputs(), Normalizer{}, values);
        writer->write(samples, values, stated);
      });
  finish_predictions(ranks, predicted, writer ? &*writer : nullptr, arguments, "outputs",
                     describe_outside(ranks, open->opened, *pass, DataPart::train));
  return ExitCode::done;
}

}  // namespace mylos::app
