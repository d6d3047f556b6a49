#include <fmt/format.h>

#include <limits>

#include "launch/usage.hpp"
#include "mylos/train/measures.hpp"
#include "options/options.hpp"

namespace mylos::app {
namespace {

/// Far more dropout masks or members than anybody waits for.
constexpr std::int64_t max_masks = 1'000'000;

std::vector<std::string> names_of_measures() {
  std::vector<std::string> names;
  for (const MeasureTraits& measure : measure_traits) names.emplace_back(measure.name);
  return names;
}

/// Returns the option that makes an ensemble of the words, and that which draws dropout masks.
struct MemberOptions {
  CLI::Option* ensemble;
  CLI::Option* masks;
};

MemberOptions add_members(CLI::App& command, MemberArguments& arguments, const char* usage) {
  CLI::Option* ensemble =
      command.add_flag("--ensemble", arguments.ensemble,
                       fmt::format("Mean and standard deviation of several networks: {}", usage));
  CLI::Option* masks =
      command
          .add_option("--mc-dropout", arguments.dropout_masks,
                      "Mean and standard deviation over this number of dropout masks (Monte Carlo dropout)")
          ->check(integer_from(2, max_masks))
          ->excludes(ensemble);
  command.add_option("--seed", arguments.seed, "Seed of the dropout masks (default: the run's seed)")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()))
      ->needs(masks);
  command.add_option("more", arguments.more, "With --ensemble: the other words");
  return {ensemble, masks};
}

}  // namespace

void add_checkpoint(CLI::App& command, NamedCheckpoint& checkpoint) {
  command
      .add_option(
          "checkpoint", checkpoint.path,
          "Checkpoint or model file, or a run's folder or its checkpoints folder (the newest valid one)")
      ->required();
  command.add_flag("--best", checkpoint.best, best_meaning);
}

/// Options of commands that compute with the weights.
void add_weights(CLI::App& command, NamedCheckpoint& checkpoint) {
  add_checkpoint(command, checkpoint);
  command.add_flag("--average", checkpoint.average, "The weights' moving average (optimizer.average)");
}

void add_space(CLI::App& command, MeshOptions& mesh) {
  command
      .add_option(
          "--space", mesh.space,
          "Boxes along each axis of a sample's grid, 2,2: the ranks share each sample, as of the deck's "
          "mesh.space, for samples too large for one rank; the ranks left over share the samples")
      ->delimiter(',')
      ->expected(1, 3)
      ->check(integer_from(1, std::numeric_limits<std::int32_t>::max()));
}

void add_evaluate(CLI::App& app, EvaluateArguments& arguments, Command& command) {
  CLI::App* evaluate = app.add_subcommand("eval", "Loss and accuracy of a checkpoint or model file");
  add_weights(*evaluate, arguments.checkpoint);
  auto* data = evaluate->add_option("--data", arguments.data, "Dataset file; all its samples");
  evaluate->add_option("--split", arguments.split, "Without --data: the part of the deck's data")
      ->excludes(data)
      ->check(CLI::IsMember({"test", "train", "validation"}))
      ->capture_default_str();
  evaluate
      ->add_option("--metrics", arguments.metrics,
                   "Further metrics, a,b: top5 and confusion (the matrix) of classes; r2, relative_l2 and "
                   "relative_h1 of targets, the latter two in their units; crps, likewise, of networks with "
                   "model.loss = \"gaussian\"")
      ->delimiter(',')
      ->check(CLI::IsMember(names_of_measures()));
  evaluate->add_flag("--variables", arguments.variables,
                     "RMSE, MAE and bias of each target, or of each channel of fields, in its units");
  add_space(*evaluate, arguments.mesh);
  add_members(*evaluate, arguments.members, "mylos eval --ensemble RUN RUN ...");
  evaluate->callback([&] { command = [&] { return evaluate_command(arguments); }; });
}

void add_predict(CLI::App& app, PredictArguments& arguments, Command& command) {
  CLI::App* predict = app.add_subcommand("predict", "The network's outputs for every sample of a dataset");
  add_weights(*predict, arguments.checkpoint);
  predict->add_option("input", arguments.input, "Dataset file; only inputs are needed")->required();
  predict
      ->add_option("output", arguments.output,
                   "File for the outputs of each sample: HDF5 (/outputs), or CSV if its name ends in .csv")
      ->required();
  predict->add_flag("--allow-nonfinite", arguments.allow_nonfinite,
                    "Also write outputs that are inf or NaN; without it they end the command (exit code 1)");
  predict->add_option(
      "--flags", arguments.flags,
      "Table (.csv) of the samples that are unlike those of the training: inputs outside their "
      "range, and distances, of files that have --input-statistics");
  add_space(*predict, arguments.mesh);
  const MemberOptions members =
      add_members(*predict, arguments.members, "mylos predict --ensemble RUN RUN ... INPUT OUTPUT");
  CLI::Option* writes = predict->add_flag("--members", arguments.writes_members,
                                          "Also write each network's or mask's outputs (/members)");
  predict->callback([&, members, writes] {
    if (writes->count() > 0 && members.ensemble->count() + members.masks->count() == 0)
      throw CLI::RequiresError("--members", "--ensemble or --mc-dropout");
    command = [&] { return predict_command(arguments); };
  });
}

}  // namespace mylos::app
