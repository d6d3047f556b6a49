// The command lines of the subcommands that have a file in this folder.
//
// Each function adds its subcommand, and sets `command` to it if the command line selects it. Both arguments
// must outlive the parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

using Command = std::function<ExitCode()>;

void add_advise(CLI::App& app, AdviseArguments& arguments, Command& command);
void add_calibrate(CLI::App& app, CalibrateArguments& arguments, Command& command);
void add_convert(CLI::App& app, ConvertArguments& arguments, Command& command);
void add_data(CLI::App& app, DataArguments& arguments, Command& command);
/// Adds the argument that names a checkpoint or model file, with --best; add_weights() also --average.
void add_checkpoint(CLI::App& command, NamedCheckpoint& checkpoint);
void add_weights(CLI::App& command, NamedCheckpoint& checkpoint);
/// Adds --space.
void add_space(CLI::App& command, MeshOptions& mesh);
void add_evaluate(CLI::App& app, EvaluateArguments& arguments, Command& command);
void add_predict(CLI::App& app, PredictArguments& arguments, Command& command);
void add_export(CLI::App& app, ExportArguments& arguments, Command& command);
void add_init(CLI::App& app, InitArguments& arguments, Command& command);
void add_report(CLI::App& app, ReportArguments& arguments, Command& command);
void add_rollout(CLI::App& app, RolloutArguments& arguments, Command& command);
void add_sweep(CLI::App& app, SweepArguments& arguments, const StopSources& stop, Command& command);
/// Adds `types` and `check-precision`.
void add_precision(CLI::App& app, CheckPrecisionArguments& arguments, Command& command);

struct BenchArguments {
  BenchAllreduceArguments allreduce;
  BenchGemmArguments gemm;
  BenchCheckpointArguments checkpoint;
};
/// Adds `bench` and its benchmarks.
void add_bench(CLI::App& app, BenchArguments& arguments, Command& command);

struct PrepareArguments {
  PrepareIdx idx;
  PrepareCsv csv;
  PrepareImages images;
  std::string image_size;  // "" = as the images are, or "HxW"
  PrepareFields fields;
  PrepareText text;
  PrepareTokens tokens;
  std::string stamp;
};
/// Adds `prepare` and its kinds of input.
void add_prepare(CLI::App& app, PrepareArguments& arguments, Command& command);

}  // namespace mylos::app
