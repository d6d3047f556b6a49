// The `mylos` command: reads the command line and runs one subcommand.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "commands.hpp"
#include "launch/child_process.hpp"
#include "launch/runtime.hpp"
#include "launch/same_start.hpp"
#include "launch/start.hpp"
#include "launch/stop_signals.hpp"
#include "launch/usage.hpp"
#include "launch/waiting_threads.hpp"
#include "mylos/base/errors/error_table.hpp"
#include "mylos/config/deck/manual.hpp"
#include "mylos/kernels/rates/known_devices.hpp"
#include "options/options.hpp"

namespace {

using mylos::ExitCode;
using mylos::StopSources;
using namespace mylos::app;  // NOLINT: this file is the command

/// The range of numbers of steps, ranks and tokens.
constexpr std::int64_t max_counted = std::numeric_limits<std::int32_t>::max();

/// All options of the command line.
struct CommandLine {
  TrainArguments train;
  SweepArguments sweep;
  PlanArguments plan;
  AdviseArguments advise;
  EvaluateArguments evaluate;
  PredictArguments predict;
  RolloutArguments rollout;
  SampleArguments sample;
  PrepareArguments prepare;
  ConvertArguments convert;
  DataArguments data;
  ExportArguments exported;
  CalibrateArguments calibrate;
  InitArguments init;
  CheckPrecisionArguments precision;
  BenchArguments bench;
  ReportArguments report;
  NamedCheckpoint info;
  bool verify = false;
  bool list_errors = false;  // instead of the keys
  StopSources stop;
  bool saves_its_work = false;  // where it is asked to stop
  std::function<ExitCode()> command;
};

void add_train(CLI::App& app, CommandLine& line) {
  CLI::App* train = app.add_subcommand("train", "Train the network that a deck describes");
  train->add_option("deck", line.train.deck, "The deck (TOML); `mylos manual` lists every key")->required();
  train->add_option("overrides", line.train.overrides, "section.key=value: overrides the deck");
  train->add_option(
      "--restart", line.train.restart,
      "auto: the newest valid checkpoint, or a new run; latest: it must exist; or a checkpoint file");
  train
      ->add_option("--stop-after", line.train.stop_after,
                   "Write a checkpoint and stop (exit code 85) after this many steps of this start")
      ->check(integer_from(1, max_counted));
  CLI::Option* plan = train->add_option(
      "--plan", line.train.plan,
      "Use the execution schedule of this file, which `mylos plan --json` wrote for the same deck");
  train->add_option("--walltime", line.train.walltime,
                    "HH:MM:SS of the job: stop (exit code 85) with a checkpoint before it ends");
  train
      ->add_option("--debug-tensors", line.train.debug_tensors,
                   "Print type, shape and values of all tensors on rank 0 before each of the first N steps")
      ->check(integer_from(1, max_counted));
  train
      ->add_flag(
          "--check", line.train.check,
          "Read deck and data, print where each rank runs, the resolved deck, the shapes, threads, memory "
          "and, with --restart, what is resumed; touch nothing, and end as the run would begin")
      ->excludes(plan);
  train->footer(
      "The keys of a deck, also for section.key=value (their types and meanings: mylos manual):\n" +
      mylos::deck_overview() +
      "\n"
      "SIGUSR1, SIGTERM, SIGINT or a file named `stop` in the run's folder: the run finishes its step, "
      "writes a\n"
      "checkpoint, leaves the file `requeue` in its folder and ends with exit code 85.");
  train->callback([&line] {
    line.saves_its_work = true;
    line.command = [&line] { return train_command(line.train, line.stop); };
  });
}

void add_plan(CLI::App& app, CommandLine& line) {
  CLI::App* plan =
      app.add_subcommand("plan", "Print the memory and time of a run, and what it recomputes to fit");
  plan->add_option("deck", line.plan.deck, "The deck (TOML)")->required();
  plan->add_option("overrides", line.plan.overrides, "section.key=value: overrides the deck");
  plan->add_option("--ranks", line.plan.ranks, "Ranks of the run")
      ->check(integer_from(1, max_counted))
      ->capture_default_str();
  plan->add_option("--ranks-per-node", line.plan.ranks_per_node,
                   "Ranks that share a node's memory (default: all)")
      ->check(integer_from(1, max_counted));
  CLI::Option* json = plan->add_flag("--json", line.plan.json,
                                     "Print JSON, as in a run's plan.json, which names engines too");
  CLI::Option* products =
      plan->add_flag("--products", line.plan.products,
                     "Only list the GEMMs of a step, and the engine of each on this machine")
          ->excludes(json);
  plan->add_option("--device", line.plan.device,
                   "Predict the step's time by the peak rates of this device, which may be elsewhere, and "
                   "with memory.budget = \"auto\" plan for 0.9 of its memory: " +
                       mylos::known_device_names())
      ->excludes(products);
  plan->callback([&line] { line.command = [&line] { return plan_command(line.plan); }; });
}

void add_info(CLI::App& app, CommandLine& line) {
  CLI::App* info = app.add_subcommand("info", "Describe a checkpoint or model file");
  add_checkpoint(*info, line.info);
  info->add_flag("--verify", line.verify,
                 "Only check whether a file is valid, also of unknown origin: read in a separate process");
  info->callback([&line] {
    line.command = [&line] { return line.verify ? verify_command(line.info) : info_command(line.info); };
  });
}

void add_sample(CLI::App& app, CommandLine& line) {
  CLI::App* sample = app.add_subcommand("sample", "Let a network of tokens continue a text");
  add_weights(*sample, line.sample.checkpoint);
  sample
      ->add_option("--prompt", line.sample.prompt,
                   "The beginning of the text; for tokens without text, numbers separated by spaces")
      ->required();
  sample->add_option("--tokens", line.sample.tokens, "Number of tokens to add")
      ->check(integer_from(1, max_counted))
      ->capture_default_str();
  sample
      ->add_option("--temperature", line.sample.draw.temperature,
                   "Below 1 likely tokens become more likely; 0: always the most likely")
      ->check(number_from_0())
      ->capture_default_str();
  sample
      ->add_option("--top-k", line.sample.draw.top_k,
                   "Draw from this number of the most likely tokens; 0: all")
      ->check(integer_from(0, max_counted))
      ->capture_default_str();
  sample->add_option("--seed", line.sample.draw.seed, "Seed of the random numbers")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  sample->callback([&line] { line.command = [&line] { return sample_command(line.sample); }; });
}

void add_manual(CLI::App& app, CommandLine& line) {
  CLI::App* manual = app.add_subcommand("manual", "Print the list of all deck keys");
  manual->add_flag("--errors", line.list_errors, "Print the names of all errors with cause and cure instead");
  manual->callback([&line] {
    line.command = [&line] {
      fmt::print("{}", line.list_errors ? mylos::error_manual() : mylos::deck_manual());
      return ExitCode::done;
    };
  });
}

/// True if the selected command computes no network and exchanges nothing with other ranks.
bool does_without_mpi(const CLI::App& app) {
  constexpr std::array commands{"types", "check-precision", "info", "export", "report", "prepare", "manual"};
  if (app.got_subcommand("sweep") && app.get_subcommand("sweep")->count("--best") > 0) return true;
  return std::any_of(commands.begin(), commands.end(),
                     [&](const char* command) { return app.got_subcommand(command); });
}

}  // namespace

int main(int argument_count, char** arguments) {
  choose_short_spin(arguments);
  // With a limit of file sizes (ulimit -f) a write must fail with a message; the signal would end the process
  // silently and leave an incomplete file.
  std::signal(SIGXFSZ, SIG_IGN);
  if (const std::optional<int> code = work_as_child(argument_count, arguments))
    _exit(*code);  // HDF5 need not close what it could not read
  const StopSignals signals;
  CLI::App app(
      "Mylos trains neural networks on clusters in mixed precision.\n"
      "Under mpirun every rank is one worker: mpirun -n 2 mylos train deck.toml\n",
      "mylos");
  CommandLine line;
  line.stop.signal = [&signals] { return signals.arrived(); };
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text);
  add_train(app, line);
  add_sweep(app, line.sweep, line.stop, line.command);
  add_plan(app, line);
  add_advise(app, line.advise, line.command);
  add_evaluate(app, line.evaluate, line.command);
  add_predict(app, line.predict, line.command);
  add_info(app, line);
  add_rollout(app, line.rollout, line.command);
  add_sample(app, line);
  add_prepare(app, line.prepare, line.command);
  add_convert(app, line.convert, line.command);
  add_data(app, line.data, line.command);
  add_export(app, line.exported, line.command);
  add_calibrate(app, line.calibrate, line.command);
  add_init(app, line.init, line.command);
  add_precision(app, line.precision, line.command);
  add_bench(app, line.bench, line.command);
  add_report(app, line.report, line.command);
  add_manual(app, line);

  std::optional<ExitCode> end;  // of a command line that is wrong, or asks for help alone
  const auto parse = [&] {
    try {
      app.parse(argument_count, arguments);
      refuse_empty(app);
    } catch (const CLI::ParseError& error) {
      end = report_usage(app, error);
    }
    return end.value_or(ExitCode::done);
  };
  const auto run = [&] {
    if (!line.saves_its_work && !app.got_subcommand("sweep")) signals.release();
    return line.command();
  };
  if (was_launched()) {
    return run_with_mpi(argument_count, arguments, [&] {
      require_same_start(argument_count, arguments);
      parse();
      return end ? *end : run();
    });
  }
  const int code = run_alone(parse);
  if (end || code != 0) return code;
  return does_without_mpi(app) ? run_without_mpi(run) : run_with_mpi(argument_count, arguments, run);
}
