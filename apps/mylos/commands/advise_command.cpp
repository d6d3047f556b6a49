// mylos advise DECK [key=value ...] [--out FILE] [--steps N] [--rounds N] [--json]: recommends a
// type, tried on the deck's own steps.
#include <fmt/format.h>
#include <mpi.h>

#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "launch/runtime.hpp"
#include "launch/shared_deck.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/agreed_data.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/history/ranks_energy.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/run/run_check.hpp"
#include "mylos/train/step/agreed_kernels.hpp"
#include "tables/advise_report.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t max_rows = (std::int64_t{1} << 31) - 1;  // of a micro-batch, as state_memory() allows

/// inputs/net.toml -> inputs/net.advised.toml.
std::string output_file(const AdviseArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  return std::filesystem::path(arguments.deck).replace_extension(".advised.toml").string();
}

void require_new(const std::string& file) {
  std::error_code failure;
  if (std::filesystem::symlink_status(file, failure).type() != std::filesystem::file_type::not_found)
    fail_input(errors::already_exists, "{} already exists; remove it, or name another file with --out", file);
}

/// The data that a run's start determines before it plans its memory, without its folder.
struct Subject {
  Subject(const Deck& deck, const Output& output)
      : communicator(make_communicator(MPI_COMM_WORLD, deck.options.communication)) {
    RankGroup& ranks = communicator->ranks();
    Options options = deck.options;
    engines = make_agreed_engines(options.kernels, ranks, output.line);
    run_on_all(ranks, [&] {
      data = open_run_data(options, GroundTruth::required, deck.places);
      complete(options, *data, deck.places);
      if (!options.mesh.is_open()) static_cast<void>(make_step_plan(options, ranks.rank(), ranks.size()));
    });
    static_cast<void>(agreed_identity(*data, options.data, ranks));
    if (options.mesh.is_open()) {
      run_on_all(ranks, [&] { network = plan_network(options, 0, 1); });
      options.mesh.space = share_space(shared_problem(network, *engines, ranks, data.get()), ranks);
    }
    run_on_all(ranks, [&] {
      steps = run_length(options, data->epochs());
      network = plan_network(options, ranks.rank(), ranks.size());
      require_consistent(network, *data, deck.places);
    });
    if (!options.run.initial.empty()) initial.emplace(ranks, options, network.chain, deck.places);
    run_on_all(ranks, [&] {
      const GivenScalings kept =
          initial ? initial->kept_scalings(options, data->meaning(), deck.places) : GivenScalings();
      normalizer = data->normalizer([](const std::string&) {}, kept);
    });
  }
  [[nodiscard]] const Options& options() const { return network.options; }

  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<EngineSet> engines;
  std::unique_ptr<RunData> data;
  NetworkPlan network;
  std::optional<InitialWeights> initial;
  Normalizer normalizer;
  std::int64_t steps = 0;
};

/// Prints a line for each setting in the first round, which takes longest, and one for each later round.
std::function<void(int, const TrialSetting&)> progress_of(const AdviseArguments& arguments,
                                                          const Output& output) {
  if (arguments.json) return {};
  return [&, reported = -1](int round, const TrialSetting& setting) mutable {
    if (round == 0) {
      output.line(fmt::format("{} steps in {}, memory.recompute = \"{}\"", arguments.steps,
                              name_of(setting.compute), recompute_name(setting)));
    } else if (round != reported) {
      output.line(fmt::format("round {} of {}", round + 1, arguments.rounds));
    }
    reported = round;
  };
}

std::vector<std::int64_t> max_micro_batches(const Subject& subject,
                                            const std::vector<TrialSetting>& settings) {
  std::vector<std::int64_t> sizes;
  RankGroup& ranks = subject.communicator->ranks();
  const MemoryProblem problem = shared_problem(subject.network, *subject.engines, ranks, subject.data.get());
  const std::int64_t most = std::min(micro_batch_limit, max_rows / subject.network.chain.rows_per_sample);
  run_on_all(ranks, [&] {
    for (const TrialSetting& setting : settings) {
      NetworkPlan network = subject.network.with(options_of(subject.options(), setting));
      sizes.push_back(max_micro_batch(problem.with(std::move(network)), most));
    }
  });
  return sizes;
}

/// On rank 0.
void write_deck(const std::string& file, const AdviseArguments& arguments, const Options& options,
                const std::string& verdict) {
  require_new(file);
  publish_text(file, fmt::format("# Made of {} by `mylos advise`: {}.\n# Its run has a separate folder.\n{}",
                                 arguments.deck, verdict, resolve(options)));
}

}  // namespace

ExitCode advise_command(const AdviseArguments& arguments) {
  Deck deck;
  Output output;
  const std::string file = output_file(arguments);
  {
    RankGroup& ranks = ranks_of_start();
    deck = read_shared_deck(ranks, arguments.deck, arguments.overrides);
    run_on_all(ranks, [&] {
      if (ranks.rank() != 0) return;
      require_new(file);
      const PendingFile tried(file);  // what cannot be written is refused before anything is measured
    });
    output = standard_output(ranks.rank());
  }
  const KokkosRuntime kokkos(deck.options.run.threads);
  if (!arguments.json) {
    for (const std::string& line : kokkos.advice(needs_these_threads(deck.options))) output.line(line);
  }
  const Output progress = arguments.json ? Output{} : output;
  Subject subject(deck, progress);
  RankGroup& ranks = subject.communicator->ranks();
  RanksEnergy energy(ranks);

  AdviceReport report;
  report.run = subject.options().run.name;
  report.parameters = subject.network.chain.parameter_count();
  report.ranks = ranks.size();
  report.batch = subject.options().data.batch;
  report.steps = arguments.steps;
  report.rounds = arguments.rounds;
  report.computed_by = describe_instructions();
  report.energy_of = energy.what();
  report.deck = file;
  if (subject.options().model.type == ModelType::gpt)
    report.tokens_of_sample = subject.network.chain.rows_per_sample;
  report.rule = {.loss_gap = subject.options().precision.adaptation.loss_gap,
                 .least_gain = subject.options().precision.adaptation.least_gain};
  const std::vector<TrialSetting> settings = settings_to_try(subject.options());
  report.largest = max_micro_batches(subject, settings);
  report.results =
      run_type_trials({subject.network, *subject.data, subject.normalizer, *subject.communicator,
                       *subject.engines, subject.steps, subject.initial ? &*subject.initial : nullptr},
                      settings,
                      {.steps = arguments.steps,
                       .rounds = arguments.rounds,
                       .joules = [&] { return energy.joules(); },
                       .progress = progress_of(arguments, output)});
  report.advice = advise(report.results, report.rule, arguments.steps);
  const Options advised = advised_options(deck.options, report.results, report.advice.chosen, report.rule);
  // The measurements are printed even if the deck can no longer be written.
  std::optional<Error> failure;
  try {
    run_on_all(ranks, [&] {
      if (ranks.rank() == 0) write_deck(file, arguments, advised, report.advice.verdict);
    });
  } catch (const Error& error) {
    failure = error;
    report.deck.clear();
  }
  output.line(arguments.json ? advice_json(report) : '\n' + advice_text(report));
  if (failure) throw *failure;
  return ExitCode::done;
}

}  // namespace mylos::app
