// mylos plan DECK [key=value ...] [--ranks N] [--ranks-per-node N] [--device NAME] [--json | --products]:
// prints the memory and time of a run without starting it.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>

#include "commands.hpp"
#include "commands/plan_device.hpp"
#include "launch/runtime.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/config/deck/deck_without_length.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/data/run/point_weights.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/model/chain/grid_layers.hpp"
#include "mylos/model/parameters/initial_values.hpp"
#include "mylos/optim/update/parameter_groups.hpp"
#include "mylos/precision/loss_scaler.hpp"
#include "mylos/train/plan/division/sample_division.hpp"
#include "mylos/train/plan/engine_choice.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/plan/recompute_settings.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/plan/smaller_micro_batch.hpp"
#include "mylos/train/plan/tables/exchange_table.hpp"
#include "mylos/train/plan/tables/network_table.hpp"
#include "mylos/train/plan/tables/plan_table.hpp"

namespace mylos::app {
namespace {

bool states_its_shapes(const ModelOptions& model) {
  if (model.type == ModelType::gpt) return model.vocabulary > 0;
  const bool has_grid = !model.shape.empty() || !needs_grid(model);
  return has_grid && model.inputs > 0 && model.outputs > 0;
}

/// Null if the deck's data are missing and its shapes do not need them.
std::unique_ptr<RunData> data_of(Options& options, const Places& places) {
  const bool is_here = !existing_files(options.data.train).empty();
  if (!is_here && states_its_shapes(options.model)) {
    if (!existing_files(DataFiles(options.data.weights.file)).empty())
      options.model.point_weights = read_point_weights(options.data, options.model.outputs);
    return nullptr;
  }
  std::unique_ptr<RunData> data = open_run_data(options, GroundTruth::required, places);
  complete(options, *data, places);
  return data;
}

NetworkPlan network_of(const Options& options, int ranks, const Places& places) {
  NetworkPlan network = plan_network(options, 0, ranks);
  require_weights(network.chain, places);
  require_rules_apply(network.chain, options.precision);
  require_groups_match(network.chain, options.optimizer, places);
  require_initial_rules_apply(network.chain, options.model, places);
  return network;
}

/// Returns the names of the blocks of a pass and of the loss; those of later copies of a rollout have
/// numbers.
std::vector<std::string> stage_names(const NetworkPlan& network) {
  const Chain chain = network.training_chain();
  const std::size_t own = network.chain.blocks.size();
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    const std::size_t copy = stage / (own + 1);
    const std::string& name = chain.stage_name(stage);
    names.push_back(copy == 0 ? name : fmt::format("{}, copy {}", name, copy + 1));
  }
  return names;
}

/// A start uses fixed rates, so that its default plan does not depend on a clock. `device`: null = this
/// machine.
StatedRates rates_for(const MemoryOptions& memory, const Engines& engines, const Chain& chain,
                      std::size_t budget, const KnownDevice* device) {
  StatedRates stated;
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16})
    if (chain.computes_in(type)) stated.types.push_back(type);
  if (device != nullptr) {
    stated.rates = device->peak_rates();
    stated.device = device->name;
    return stated;
  }
  stated.measured = memory.times == TimesSource::automatic;
  stated.rates =
      stated.measured ? measure_rates(Execution{}, engines.gemm, stated.types, budget) : fixed_rates();
  return stated;
}

/// The additional memory of MPI in one of several ranks, for shared memory and the launcher's messages,
/// without pages of libraries. Measured with Open MPI 4.1: 0.7 to 1.2 MiB.
constexpr std::size_t bytes_beside_others = std::size_t{1} << 20;

/// The memory of this process as one of `ranks` ranks.
std::size_t bytes_of_rank(int ranks) {
  return process_memory() + (ranks > 1 ? bytes_beside_others : 0);
}

/// Returns where the loss scale begins and how it grows; "" without one.
std::string note_on_scale(const NetworkPlan& network) {
  const ScalerOptions& scaler = network.options.precision.scaler;
  const ScalerMode mode = resolve_mode(scaler.mode, network.chain.computes_in(DType::fp16));
  if (mode == ScalerMode::fixed) return fmt::format("loss scale: {:g}, static", scaler.initial_scale);
  if (mode != ScalerMode::dynamic) return "";
  return fmt::format("loss scale: from {:g}, dynamic, times {:g} after {} good steps", scaler.initial_scale,
                     scaler.growth_factor, scaler.growth_interval);
}

}  // namespace

ExitCode plan_command(const PlanArguments& arguments) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1)
    fail_input(errors::wrong_rank_count,
               "mylos plan runs on one rank; start it without mpirun and give --ranks {}", size);
  const Deck deck =
      read_deck_without_length(read_deck_file(arguments.deck), arguments.deck, arguments.overrides);
  Options given = deck.options;
  const KnownDevice* device = planned_device(arguments, given.memory);
  const int on_node =
      arguments.ranks_per_node > 0 ? std::min(arguments.ranks_per_node, arguments.ranks) : arguments.ranks;
  const KokkosRuntime kokkos(given.run.threads, on_node);
  const std::unique_ptr<EngineSet> engines = make_engines(given.kernels);
  const std::unique_ptr<RunData> data = data_of(given, deck.places);
  // A start has it when it measures its process.
  const Normalizer normalizer = data ? data->room_for_normalizer() : Normalizer();

  MemoryProblem problem{.network = network_of(given, given.mesh.is_open() ? 1 : arguments.ranks, deck.places),
                        .engines = *engines,
                        .processes = {on_node, bytes_of_rank(arguments.ranks)},
                        .data = data.get()};
  const std::int64_t given_budget = given.memory.budget_bytes;
  problem.budget = device == nullptr ? rank_budget(given_budget, problem.processes, 1)
                                     : device_budget(given_budget, device->bytes());
  if (given.mesh.is_open()) {
    given.mesh.space = choose_space(problem, arguments.ranks);
    problem.network = network_of(given, arguments.ranks, deck.places);
  }
  const NetworkPlan& network = problem.network;
  const Options& options = network.options;
  const std::vector<std::string> stages = stage_names(network);
  std::string note;
  if (const auto smaller = smaller_micro_batch(problem)) {
    problem.network = network.with_micro_batch(smaller->samples);
    note = smaller->note;
  }
  if (const std::string choice = choose_engines(problem, {}); !choice.empty())
    note += (note.empty() ? "" : "\n") + choice;
  const Output output = standard_output(0);
  if (arguments.products) {
    output.line(gemms_table(stages, problem));
    if (!note.empty()) output.line(note);
    return ExitCode::done;
  }
  const StatedRates rates = rates_for(options.memory, *engines, network.chain, problem.budget, device);
  problem.rates = rates.rates;
  MemoryPlan plan = plan_memory(problem);
  if (options.memory.times == TimesSource::measure) {
    MeasuredPlan measured = plan_by_measured_times(problem, std::move(plan));
    plan = std::move(measured.plan);
    note += (note.empty() ? "" : "\n") + measured.note;
  }

  const std::optional<StepExchanges> exchanges = largest_exchanges(network, plan.plan.schedule);
  if (arguments.json) {
    const bool is_modelled = !plan.statement.cost.measured;
    fmt::print("{}", plan_document(options.run.name, plan, is_modelled ? std::optional(rates) : std::nullopt,
                                   exchanges));
    return ExitCode::done;
  }
  output.line(fmt::format("{}: {} parameters, {} rank{}, {} micro-batch{} of {} in a step; {}\n",
                          options.run.name, plan.statement.parameters, arguments.ranks,
                          arguments.ranks == 1 ? "" : "s", plan.statement.micro_batches,
                          plan.statement.micro_batches == 1 ? "" : "es", plan.statement.micro_batch,
                          describe(plan)));
  const bool is_split = network.step.boxes > 1;
  if (const std::string mesh = describe_mesh(network); !mesh.empty())
    output.line(fmt::format("mesh.space: {}{}\n", mesh, is_split ? "; the table is that of one box" : ""));
  output.line(network_table(network.chain, *engines, plan.statement.micro_batch));
  output.line(plan_table(stages, plan));
  if (exchanges) output.line(exchange_table(*exchanges, network.ranks));
  if (const std::string table = recompute_table(plan); !table.empty()) output.line(table);
  if (!plan.statement.cost.measured) output.line(fmt::format("modelled times are of {}\n", describe(rates)));
  if (options.precision.adapt) {
    note +=
        fmt::format("{}precision.adapt: a run that begins afresh chooses its type; this is the plan of {}",
                    note.empty() ? "" : "\n", name_of(options.precision.compute));
  }
  if (const std::string search = note_on_search(plan); !search.empty())
    note += (note.empty() ? "" : "\n") + search;
  if (device != nullptr) note += (note.empty() ? "" : "\n") + note_on_device(*device, options.memory);
  if (const std::string shards = note_on_shards(network); !shards.empty())
    note += (note.empty() ? "" : "\n") + shards;
  if (const std::string recompute = note_on_recompute(plan, options.memory); !recompute.empty())
    note += (note.empty() ? "" : "\n") + recompute;
  if (const std::string scale = note_on_scale(network); !scale.empty())
    note += (note.empty() ? "" : "\n") + scale;
  if (const std::string transforms = note_on_transforms(network.chain); !transforms.empty())
    note += (note.empty() ? "" : "\n") + transforms;
  if (!note.empty()) output.line(note + '\n');
  output.line("activations over the operations of a micro-batch\n\n" + plan_picture(stages, plan));
  if (data == nullptr)
    output.line("The deck's data file is not here: what it takes in memory is not counted.");
  return ExitCode::done;
}

}  // namespace mylos::app
